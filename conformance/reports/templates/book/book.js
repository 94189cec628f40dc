// Zoom in pictures, the search box, the question on the first page. Everything can be read without this script; it loads nothing
// but the index beside it.
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
  buttons(figure, () => zoom(3 / 4), () => zoom(4 / 3), readable, whole, "drag or arrow keys to move; ctrl + wheel, + and − to zoom");

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
  frame.addEventListener("keydown", (event) => {
    const { key, target } = event;
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (target !== frame || !(key in moves || "+-".includes(key))) return;
    event.preventDefault();
    if (key === "+" || key === "-") { zoom(key === "+" ? 3 / 4 : 4 / 3); return; }
    view.x += (moves[key][0] * view.w) / 8;
    view.y += (moves[key][1] * view.w) / 8;
    draw();
  });
  addEventListener("resize", () => { height(); draw(); });
  addEventListener("beforeprint", () => svg.setAttribute("viewBox", `${x0} ${y0} ${W} ${H}`));
  addEventListener("afterprint", draw);
  readable();
};
document.querySelectorAll("figure[data-zoom]").forEach(matchMedia("(pointer: coarse)").matches ? scrolled : live);

// Search: search.js ranks, what is here asks and shows.
const form = document.querySelector(".search");
const box = form.querySelector("input");
const list = form.querySelector(".found");
const MOST = 40;
let loading;
const index = () => loading ??= new Promise((done) => {
  const script = document.createElement("script");
  script.src = "search-index.js";
  script.addEventListener("load", () => done(prepared(window)));
  document.head.append(script);
});
const note = (textContent) => Object.assign(document.createElement("li"), { className: "none", textContent });
const result = (entry) => {
  const [item, anchor, name, kind, text] = ["li", "a", "b", "small", "p"].map((tag) => document.createElement(tag));
  anchor.href = entry.address;
  name.textContent = entry.title;
  kind.textContent = entry.kind;
  text.textContent = entry.text;
  anchor.append(name, kind, text);
  item.append(anchor);
  return item;
};
const show = async () => {
  const query = box.value.trim();
  list.hidden = !query;
  if (!query) return;
  const { found, read, all } = search(await index(), query);
  if (query !== box.value.trim()) return;
  list.replaceChildren(...found.slice(0, MOST).map(result));
  if (!found.length) list.append(note("Nothing is called that, or says it."));
  else if (!all) list.prepend(note("Nothing has all of these words. These have most:"));
  if (found.length && read) list.prepend(note(`Read as: ${read}`));
  if (found.length > MOST) list.append(note(`and ${found.length - MOST} more`));
};
form.hidden = false;
box.addEventListener("focus", show);
box.addEventListener("input", show);
form.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === "Escape") { list.hidden = true; document.activeElement.blur(); }
  if (!step) return;
  event.preventDefault();
  const stops = [box, ...list.querySelectorAll("a")];
  stops[Math.min(Math.max(stops.indexOf(document.activeElement) + step, 0), stops.length - 1)].focus();
});
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  await show();
  list.querySelector("a")?.click();
});
list.addEventListener("click", (event) => { if (event.target.closest("a")) { list.hidden = true; box.blur(); } });
addEventListener("click", (event) => { if (!form.contains(event.target)) list.hidden = true; });
addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) { event.preventDefault(); box.focus(); }
});
const asked = new URLSearchParams(location.search).get("q");
if (asked) { box.value = asked; show(); }

// The question on the first page: what happens and what is going on make the address of a cell.
const ask = document.querySelector(".ask");
if (ask) {
  const { event, situation } = ask.elements;
  const fit = () => {
    const deciding = event.selectedOptions[0].dataset.by.split(" ");
    for (const group of situation.children) group.hidden = group.disabled = !deciding.includes(group.dataset.machine);
    if (situation.selectedOptions[0]?.parentElement.disabled ?? true) situation.value = situation.querySelector("optgroup:not([disabled]) option").value;
  };
  ask.closest("section").hidden = false;
  fit();
  event.addEventListener("change", fit);
  ask.addEventListener("submit", (submitted) => { submitted.preventDefault(); location.href = `${situation.value}#${event.value}`; });
}

// What a link leads to is shown over it as soon as the index of the search is here.
addEventListener("pointerover", async ({ target }) => {
  const link = target.closest?.('a[href*=".html"]:not([title])');
  if (!link || link.closest(".site")) return;
  const { entries } = await index();
  link.title = entries.find(({ address }) => address === link.getAttribute("href"))?.text ?? "";
});

// On a narrow screen the chapters scroll: the present one is shown.
const here = document.querySelector(".site nav [aria-current]");
const chapters = here.closest("nav").firstElementChild;
chapters.scrollLeft = here.offsetLeft + here.offsetWidth / 2 - chapters.clientWidth / 2;

// What is closed on the screen is open on paper.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => { each.open = true; }));
