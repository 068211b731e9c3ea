"""What is counted, as Prometheus reads it."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
ROWS = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """Requests, seconds, rows: a registry of its own, so that several services in a process do not mix."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        it = self.registry
        self.requests = Counter("regard_requests", "Requests answered.", ["route", "method", "status"], registry=it)
        self.seconds = Histogram(
            "regard_request_seconds", "From request to answer.", ["route"], buckets=SECONDS, registry=it
        )
        self.running = Gauge("regard_requests_running", "Requests that have come and are not answered.", registry=it)
        self.waiting = Gauge("regard_rows_waiting", "Texts that wait for a bundle.", ["model"], registry=it)
        self.batch = Histogram("regard_batch_rows", "Texts computed together.", ["model"], buckets=ROWS, registry=it)
        self.computing = Histogram(
            "regard_batch_seconds", "Seconds of a batch.", ["model"], buckets=SECONDS, registry=it
        )
        self.texts = Counter("regard_texts", "Texts asked about.", ["model"], registry=it)
        self.reloads = Counter("regard_reloads", "Bundles loaded again.", ["model"], registry=it)

    def text(self) -> bytes:
        return generate_latest(self.registry)
