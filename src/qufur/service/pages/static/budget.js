// Spent part of a budget, as text and as a bar.

import { count, percent, whole } from "./dom.js";

// A budget is a count of labels, or a share of rows; then `share` compares the spent share with the allowed one.
export function budgetOf({ budget, spent, left, rows }) {
  const words = count(spent, "label");
  if (budget == null) return { words, share: "", bar: null };
  if (budget > 1) return { words: `${whole(spent)} of ${count(spent + left, "label")}`, share: "", bar: spent / (spent + left) };
  const share = rows ? spent / rows : 0;
  return { words, share: `${percent(share)} of rows (${percent(budget)} allowed)`, bar: share / budget };
}

export function fill(bar, share) {
  bar.value = Math.min(share ?? 0, 1);
  bar.hidden = share == null;
}
