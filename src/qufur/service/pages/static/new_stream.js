// What the form of a new stream says, as the body of POST /v1/streams.

const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

function numberOf(form, name, what) {
  const text = form.get(name).trim().replace(",", ".");
  if (!text) return undefined;
  const value = Number(text);
  if (!Number.isFinite(value)) throw new Error(`${what} is a number; got ${text}.`);
  return value;
}

// The kind is the last word of a line: names of columns may have spaces.
function columnsOf(text) {
  const pairs = lines(text).map((line) => {
    const [, name, kind] = /^(.+?)[\s:,]+(\w+)$/.exec(line) ?? [];
    if (!name) throw new Error(`A column has a name and a kind, such as temp number; got ${line}.`);
    return [name, kind];
  });
  if (!pairs.length) throw new Error("Name at least one column.");
  return Object.fromEntries(pairs);
}

function rangeOf(form) {
  const [low, high] = [numberOf(form, "low", "From"), numberOf(form, "high", "To")];
  if ((low === undefined) !== (high === undefined)) throw new Error("Give both ends of the labels, or none.");
  return low === undefined ? undefined : [low, high];
}

function budgetOf(text) {
  const value = text.trim();
  return value === "" || value.endsWith("%") || Number.isNaN(Number(value)) ? value || undefined : Number(value);
}

export function readForm(form) {
  const name = form.get("name").trim();
  if (!name) throw new Error("Give the stream a name.");
  const byColumns = form.get("inputs") === "columns";
  const dim = byColumns ? undefined : numberOf(form, "dim", "How many numbers");
  if (!byColumns && dim === undefined) throw new Error("Say how many numbers an example has.");
  const byClasses = form.get("labels") === "classes";
  return {
    name,
    dim,
    columns: byColumns ? columnsOf(form.get("columns")) : undefined,
    label_range: byClasses ? undefined : rangeOf(form),
    classes: byClasses ? lines(form.get("classes")) : undefined,
    budget: budgetOf(form.get("budget")),
    model: form.get("model") || undefined,
    rule: form.get("rule") || undefined,
    horizon: numberOf(form, "horizon", "Rows it is for"),
    seed: numberOf(form, "seed", "The seed"),
  };
}
