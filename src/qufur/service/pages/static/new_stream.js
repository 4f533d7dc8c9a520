// Reads the form of a new stream as the body of POST /v1/streams.

const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

function numberOf(form, name, title) {
  const text = form.get(name).trim().replace(",", ".");
  if (!text) return undefined;
  const value = Number(text);
  if (!Number.isFinite(value)) throw new Error(`${title} must be a number, got ${text}.`);
  return value;
}

// The type is the last word of a line: column names may have spaces.
function columnsOf(text) {
  const pairs = lines(text).map((line) => {
    const [, name, type] = /^(.+?)[\s:,]+(\w+)$/.exec(line) ?? [];
    if (!name) throw new Error(`A column needs a name and a type, such as temp number; got ${line}.`);
    return [name, type];
  });
  if (!pairs.length) throw new Error("Enter at least one column.");
  return Object.fromEntries(pairs);
}

function rangeOf(form) {
  const [low, high] = [numberOf(form, "low", "Minimum"), numberOf(form, "high", "Maximum")];
  if ((low === undefined) !== (high === undefined)) throw new Error("Enter both minimum and maximum, or neither.");
  return low === undefined ? undefined : [low, high];
}

function budgetOf(text) {
  const value = text.trim();
  return value === "" || value.endsWith("%") || Number.isNaN(Number(value)) ? value || undefined : Number(value);
}

export function readForm(form) {
  const name = form.get("name").trim();
  if (!name) throw new Error("Enter a name for the stream.");
  const byColumns = form.get("inputs") === "columns";
  const dim = byColumns ? undefined : numberOf(form, "dim", "Number of inputs");
  if (!byColumns && dim === undefined) throw new Error("Enter the number of inputs of an example.");
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
    horizon: numberOf(form, "horizon", "Number of rows"),
    seed: numberOf(form, "seed", "Seed"),
  };
}
