// Opens what a link points into, shows a run's evidence beside its finding, and copies commands. All of it can be done without.
"use strict";
const open = () => {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
  if (target) target.closest("details, section, li").scrollIntoView();
};
addEventListener("hashchange", open);
open();
const show = (details) => {
  const note = details.querySelector(".without-script");
  if (!details.open || !note) return;
  const copy = document.getElementById(details.dataset.run).cloneNode(true);
  copy.removeAttribute("id");
  note.replaceWith(copy);
  const frame = copy.querySelector(".sequence");
  if (!frame) return;
  // What broke a rule is in the middle; without it a phone begins with the first lane, left of which the times are.
  const row = frame.querySelector('[fill="#fee2e2"]');
  const at = frame.getBoundingClientRect();
  const [lane, broken] = [frame.querySelector('.lanes [class="b"]'), row?.parentElement.querySelector('[text-anchor="middle"]') ?? row].map((each) => each?.getBoundingClientRect());
  if (frame.clientWidth < 600 && broken) frame.scrollLeft = (broken.left + broken.right) / 2 - at.left - frame.clientWidth / 2;
  else if (frame.clientWidth < 600 && lane) frame.scrollLeft = lane.left - at.left - 8;
  if (broken) frame.scrollTop = broken.top - at.top - frame.clientHeight / 3;
};
document.querySelectorAll("details[data-run]").forEach((details) => {
  details.addEventListener("toggle", () => show(details));
  show(details);
});
document.querySelectorAll(".copy").forEach((button) => {
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.previousElementSibling.textContent);
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  });
});
addEventListener("beforeprint", () => document.querySelectorAll("details.finding, details.show:not([data-run])").forEach((each) => { each.open = true; }));
