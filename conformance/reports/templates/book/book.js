// Search, and zoom in pictures. Everything can be read without this script; it loads nothing but the index beside it.
"use strict";

// Pictures. Buttons zoom everywhere. With a finger, the frame scrolls and pinches as the page does; with a mouse, ctrl + wheel
// zooms and a drag moves: what is shown then is a window (x, y, w, h) on the drawing.
const SMALLEST = 0.72; // letters are not read at less of their size
const buttons = (figure, larger, smaller, readable, whole, hint) => {
  const bar = document.createElement("div");
  bar.className = "zoom-buttons";
  for (const [text, title, act] of [["+", "larger", larger], ["−", "smaller", smaller], ["readable", "letters at a size that can be read", readable], ["whole", "all of it", whole]]) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", textContent: text, title });
    button.addEventListener("click", act);
    bar.append(button);
  }
  bar.append(Object.assign(document.createElement("span"), { textContent: hint }));
  figure.prepend(bar);
};
const scrolled = (figure) => {
  const svg = figure.querySelector("svg");
  const width = (svg.viewBox.baseVal.width * 4) / 3;
  const set = (pixels) => Object.assign(svg.style, { minWidth: "0", width: `${pixels}px` });
  const zoom = (factor) => set(svg.getBoundingClientRect().width * factor);
  const readable = () => set(width * SMALLEST);
  buttons(figure, () => zoom(4 / 3), () => zoom(3 / 4), readable, () => set(figure.clientWidth - 2), "");
  readable();
};
const live = (figure) => {
  const frame = figure.querySelector(".drawing");
  const svg = frame.querySelector("svg");
  const [x0, y0, W, H] = svg.getAttribute("viewBox").split(/[\s,]+/).map(Number);
  const natural = 4 / 3; // pixels in a point
  const view = { x: x0, y: y0, w: W };
  const shape = () => frame.clientHeight / frame.clientWidth;
  const draw = () => {
    view.w = Math.min(Math.max(view.w, 60), Math.max(W, H / shape()) * 1.15);
    const h = view.w * shape();
    const hold = (at, from, all, part) => (part >= all ? from - (part - all) / 2 : Math.min(Math.max(at, from), from + all - part));
    view.x = hold(view.x, x0, W, view.w);
    view.y = h >= H ? y0 : hold(view.y, y0, H, h);
    svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.w} ${h}`);
  };
  const zoom = (factor, px = 0.5, py = 0.5) => {
    const [w, h] = [view.w, view.w * shape()];
    const cx = view.x + w * px, cy = view.y + h * py;
    view.w = w * factor;
    view.x = cx - view.w * px;
    view.y = cy - view.w * shape() * py;
    draw();
  };
  const whole = () => {
    Object.assign(view, { x: x0, y: y0, w: Math.max(W, H / shape()) });
    draw();
  };
  const readable = () => {
    // Never smaller than letters can be read at, from the top left, where the main path begins.
    const fits = frame.clientWidth / (W * natural);
    view.w = fits >= SMALLEST ? W : frame.clientWidth / (natural * SMALLEST);
    Object.assign(view, { x: fits >= SMALLEST ? x0 : x0 - 4, y: y0 });
    draw();
  };
  figure.classList.add("live");
  svg.removeAttribute("width");
  svg.removeAttribute("height");
  svg.setAttribute("preserveAspectRatio", "xMidYMin meet");
  const height = () => { frame.style.height = `${Math.min(innerHeight * 0.84, Math.max((frame.clientWidth * H) / W, H * natural * SMALLEST))}px`; };
  height();
  buttons(figure, () => zoom(3 / 4), () => zoom(4 / 3), readable, whole, "drag to move, ctrl + wheel to zoom");

  let held = null;
  let moved = 0;
  frame.addEventListener("pointerdown", (event) => { moved = 0; held = event; });
  frame.addEventListener("pointermove", (event) => {
    if (!held) return;
    const scale = view.w / frame.clientWidth;
    const [dx, dy] = [event.clientX - held.clientX, event.clientY - held.clientY];
    view.x -= dx * scale;
    view.y -= dy * scale;
    draw();
    moved += Math.abs(dx) + Math.abs(dy);
    if (moved > 5 && !frame.hasPointerCapture(event.pointerId)) frame.setPointerCapture(event.pointerId);
    held = event;
  });
  for (const end of ["pointerup", "pointercancel", "pointerleave"]) frame.addEventListener(end, () => { held = null; });
  frame.addEventListener("click", (event) => { if (moved > 5) event.preventDefault(); }, true);
  frame.addEventListener("dragstart", (event) => event.preventDefault());
  frame.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = frame.getBoundingClientRect();
    zoom(Math.exp(event.deltaY * 0.002), (event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
  }, { passive: false });
  addEventListener("resize", () => { height(); draw(); });
  addEventListener("beforeprint", () => svg.setAttribute("viewBox", `${x0} ${y0} ${W} ${H}`));
  addEventListener("afterprint", draw);
  readable();
};
document.querySelectorAll("figure[data-zoom]").forEach(matchMedia("(pointer: coarse)").matches ? scrolled : live);

// Search: all words must occur; a title that is the query comes first, then titles that begin with it, then the rest.
const form = document.querySelector(".search");
const box = form.querySelector("input");
const list = form.querySelector(".found");
const MOST = 40;
let loading;
const index = () => loading ??= new Promise((done) => {
  const script = document.createElement("script");
  script.src = "search-index.js";
  script.addEventListener("load", () => done(window.BOOK.map(([title, kind, address, text]) => ({ title, kind, address, text, low: `${title} ${kind} ${text}`.toLowerCase(), name: title.toLowerCase() }))));
  document.head.append(script);
});
const weight = (entry, query, words) => {
  let value = 0;
  if (entry.name === query) value += 1000;
  else if (entry.name.startsWith(query)) value += 300;
  else if (entry.name.includes(query)) value += 150;
  for (const word of words) {
    if (entry.name.split(/[\s_:.,-]+/).includes(word)) value += 60;
    else if (entry.name.includes(word)) value += 30;
    else if (new RegExp(`\\b${word.replace(/[^\w]/g, "\\$&")}`).test(entry.low)) value += 8;
  }
  return value + (entry.kind === "rule" ? 40 : 0) - (entry.kind.startsWith("cell") ? 90 : 0) - entry.name.length / 50;
};
const search = async () => {
  const query = box.value.trim().toLowerCase();
  if (!query) { list.hidden = true; return; }
  const words = query.split(/\s+/);
  const found = (await index()).filter((entry) => words.every((word) => entry.low.includes(word)));
  if (query !== box.value.trim().toLowerCase()) return;
  found.forEach((entry) => { entry.weight = weight(entry, query, words); });
  found.sort((a, b) => b.weight - a.weight);
  list.replaceChildren(...found.slice(0, MOST).map((entry) => {
    const [item, anchor, name, kind, text] = ["li", "a", "b", "small", "p"].map((tag) => document.createElement(tag));
    anchor.href = entry.address;
    name.textContent = entry.title;
    kind.textContent = entry.kind;
    text.textContent = entry.text;
    anchor.append(name, kind, text);
    item.append(anchor);
    return item;
  }));
  if (!found.length) list.append(Object.assign(document.createElement("li"), { className: "none", textContent: "Nothing is called that, or says it." }));
  if (found.length > MOST) list.append(Object.assign(document.createElement("li"), { className: "none", textContent: `and ${found.length - MOST} more` }));
  list.hidden = false;
};
const choose = (step) => {
  const items = [...list.querySelectorAll("li:has(a)")];
  const at = items.findIndex((item) => item.hasAttribute("aria-selected"));
  items[at]?.removeAttribute("aria-selected");
  const next = items[Math.min(Math.max(at + step, 0), items.length - 1)];
  next?.setAttribute("aria-selected", "true");
  next?.scrollIntoView({ block: "nearest" });
};
form.hidden = false;
box.addEventListener("focus", () => { index(); search(); });
box.addEventListener("input", search);
box.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") { event.preventDefault(); choose(event.key === "ArrowDown" ? 1 : -1); }
  if (event.key === "Escape") { list.hidden = true; box.blur(); }
});
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  await search();
  (list.querySelector("[aria-selected] a") ?? list.querySelector("a"))?.click();
});
list.addEventListener("click", (event) => { if (event.target.closest("a")) { list.hidden = true; box.blur(); } });
addEventListener("click", (event) => { if (!form.contains(event.target)) list.hidden = true; });
addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) { event.preventDefault(); box.focus(); }
});

// On a narrow screen the chapters scroll: the present one is shown.
const here = document.querySelector(".site nav [aria-current]");
const chapters = here.closest("ul");
chapters.scrollLeft = here.offsetLeft + here.offsetWidth / 2 - chapters.clientWidth / 2;

// What is closed on the screen is open on paper.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => { each.open = true; }));
