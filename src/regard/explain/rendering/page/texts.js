// A text whose units can be pointed at, pinned and coloured.
class TextView {
  constructor(classes, on) {
    this.box = element("div", `text ${classes}`);
    this.units = [];
    const number = (event) => { const unit = event.target.closest(".unit"); return unit ? Number(unit.dataset.number) : null; };
    this.box.addEventListener("pointerover", (event) => { if (number(event) !== null) on.point(number(event)); });
    this.box.addEventListener("pointerleave", () => on.leave());
    this.box.addEventListener("click", (event) => { if (number(event) !== null) on.pin(number(event)); });
  }
  show(axis) {
    if (this.axis === axis) return;
    this.axis = axis;
    this.units = [];
    const apart = new Set(axis.special);
    const parts = document.createDocumentFragment();
    const behind = element("span", "apart");
    axis.units.forEach(([gap, text], number) => {
      const unit = element("span", "unit", text);
      unit.dataset.number = number;
      this.units.push(unit);
      if (apart.has(number)) behind.append(unit);
      else parts.append(gap, unit);
    });
    parts.append(axis.tail);
    if (apart.size) parts.append(behind);
    this.box.replaceChildren(parts);
  }
  paint(share) {
    this.units.forEach((unit, number) => {
      const value = share(number);
      unit.style.backgroundColor = value === null ? "" : colour(value);
      unit.style.color = value === null ? "" : ink(value);
    });
  }
  mark(chosen, pointed, follow) {
    this.units.forEach((unit, number) => {
      unit.classList.toggle("chosen", number === chosen);
      unit.classList.toggle("pointed", number === pointed && number !== chosen);
    });
    const target = this.units[chosen ?? pointed];
    if (!target || !follow) return;
    const { top, bottom } = this.box.getBoundingClientRect();
    const place = target.getBoundingClientRect();
    if (place.top < top) this.box.scrollTop -= top - place.top + 8;
    if (place.bottom > bottom) this.box.scrollTop += place.bottom - bottom + 8;
  }
}
