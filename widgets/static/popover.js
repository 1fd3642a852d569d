/** One popover for all explanations: it stands below the paragraph, or above, never over it. */
import { h, nextFrame, setAttribute } from "./dom.js";

const OPEN_MS = 260, CLOSE_MS = 240, SHEET_PX = 600;
const FOCUSABLE = "a[href], button:not(:disabled), input, select, summary, [tabindex='0']";

let made = null;

/** Say whether the popover of a number is open; a slider may not say so. */
const sayExpanded = (anchor, on) => { if (anchor.getAttribute("role") !== "slider") setAttribute(anchor, "aria-expanded", String(on)); };

/** The page's popover; `open(anchor, fill)` shows what `fill()` gives, `hover` ties it to a pointer. */
export function popover(strings) {
  made ??= makePopover(strings);
  return made;
}

function makePopover(strings) {
  const box = h("div", { class: "estimate-popover", id: "estimate-popover", role: "dialog", popover: "manual", "aria-label": strings.explanation });
  document.body.append(box);
  let owner = null, pinned = false, returning = false, timer = 0;

  const isOpen = () => owner !== null;
  const place = () => {
    if (!owner || innerWidth < SHEET_PX) return;
    const at = owner.getBoundingClientRect(), size = box.getBoundingClientRect();
    const block = (owner.closest("p, li, td, dd, .ep-row, .ep-head, .ep-verdicts") ?? owner).getBoundingClientRect();
    const dock = document.querySelector(".estimate-dock.is-shown");
    const floor = innerHeight - (dock ? dock.offsetHeight : 0) - 8;
    const below = Math.min(block.bottom, innerHeight) + 6, above = block.top - size.height - 6;
    const top = below + size.height <= floor ? below : above > 8 ? above : Math.max(8, floor - size.height);
    const room = document.documentElement.clientWidth;
    const inside = Math.max(block.left, Math.min(block.right - size.width, at.left + at.width / 2 - size.width / 2));
    box.style.left = `${Math.max(8, Math.min(room - size.width - 8, inside)) + scrollX}px`;
    box.style.top = `${top + scrollY}px`;
  };
  const close = () => {
    clearTimeout(timer);
    if (!owner) return;
    const back = box.contains(document.activeElement) ? owner : null;
    sayExpanded(owner, false);
    owner = null;
    pinned = false;
    if (box.matches(":popover-open")) box.hidePopover();
    box.replaceChildren();
    returning = true; // the focus comes back to the number; it must not open the popover again
    back?.focus({ preventScroll: true });
    returning = false;
  };
  const open = (anchor, fill) => {
    clearTimeout(timer);
    if (owner === anchor) return;
    close();
    owner = anchor;
    box.replaceChildren(...[fill({ resized: () => nextFrame(place) })].flat());
    box.showPopover();
    place();
    sayExpanded(anchor, true);
  };
  const later = (job, wait) => { clearTimeout(timer); timer = setTimeout(job, wait); };
  const outside = (node) => owner && !owner.contains(node) && !box.contains(node);

  box.addEventListener("pointerenter", () => clearTimeout(timer));
  box.addEventListener("pointerleave", () => { if (!pinned) later(close, CLOSE_MS); });
  box.addEventListener("pointerdown", () => { pinned = true; });
  document.addEventListener("pointerdown", ({ target }) => { if (outside(target)) close(); });
  document.addEventListener("focusin", ({ target }) => { if (outside(target)) close(); });
  document.addEventListener("keydown", (event) => {
    if (!owner) return;
    if (event.key === "Escape") { event.stopPropagation(); close(); }
    if (event.key === "Tab") step(event);
  }, true);
  // The popover stands at the end of the document: Tab goes from the number into it and back.
  const step = (event) => {
    const inside = [...box.querySelectorAll(FOCUSABLE)];
    const to = !event.shiftKey && document.activeElement === owner ? inside[0]
      : event.shiftKey && document.activeElement === inside[0] ? owner : null;
    if (!to) return;
    event.preventDefault();
    to.focus({ preventScroll: true });
  };

  return {
    box, open, close, isOpen, place,
    isOwner: (anchor) => owner === anchor,
    /** A click on `anchor` keeps the popover open, or closes it. */
    toggle(anchor, fill) {
      if (owner === anchor && pinned) return close();
      open(anchor, fill);
      pinned = true;
    },
    /** Hovering or focusing `anchor` shows it, for as long as that lasts. */
    hover(anchor, fill) {
      sayExpanded(anchor, false);
      setAttribute(anchor, "aria-haspopup", "dialog");
      anchor.addEventListener("pointerenter", ({ pointerType, buttons }) => {
        if (pointerType === "mouse" && !buttons && !pinned) later(() => open(anchor, fill), OPEN_MS);
      });
      anchor.addEventListener("pointerleave", () => { if (!pinned) later(close, CLOSE_MS); });
      anchor.addEventListener("pointerdown", () => { if (owner !== anchor) clearTimeout(timer); });
      anchor.addEventListener("focus", () => { if (!returning && anchor.matches(":focus-visible")) open(anchor, fill); });
    },
  };
}
