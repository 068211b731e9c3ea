// What the page itself says; all else comes from the explanation.
const STRINGS = {
  en: {
    heads: "Layers and heads", maps: "Maps", layer: "layer", head: "head", outputs: "Output", inputs: "Input",
    matrix: "All outputs (down) by all inputs (across)", mean: "mean of all outputs", apart: "no text",
    against: "against", for: "for", most: "most", larger: "larger", smaller: "smaller",
    averaged: "Cells are smaller than a pixel and averaged; + shows more.",
    keys: [["← → ↑ ↓", "step through outputs; from a pinned cell, through cells"], ["click", "pin"], ["Esc", "clear"],
      ["+ −", "larger, smaller"], ["[ ]", "previous, next map"]],
  },
  zh: {
    heads: "层与注意力头", maps: "图", layer: "层", head: "头", outputs: "输出", inputs: "输入",
    matrix: "所有输出（纵）与所有输入（横）", mean: "所有输出的平均", apart: "非文本",
    against: "反对", for: "支持", most: "最重要", larger: "放大", smaller: "缩小",
    averaged: "单元格小于一个像素，已取平均；按 + 放大。",
    keys: [["← → ↑ ↓", "逐个查看输出；固定单元格后在单元格间移动"], ["单击", "固定"], ["Esc", "清除"],
      ["+ −", "放大、缩小"], ["[ ]", "上一张、下一张图"]],
  },
};
const LANGUAGE = (navigator.language || "en").toLowerCase().startsWith("zh") ? "zh" : "en";
const SAY = STRINGS[LANGUAGE];

// Elements are only ever filled by textContent: no text of an explanation is read as HTML.
function element(tag, classes = "", text = "") {
  const made = document.createElement(tag);
  if (classes) made.className = classes;
  if (text) made.textContent = text;
  return made;
}
