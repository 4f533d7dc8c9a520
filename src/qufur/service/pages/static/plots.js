// Line plots over the rows of a stream. A plot is created once and then updated, so that nothing flickers.

import { number, whole } from "./dom.js";

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const last = (values) => values.findLast((value) => value != null);
const isEmpty = ([rows, values = []]) => !last(rows) || last(values) === undefined;

// The upper end of the y axis: a wide band is cut off at twice the largest value of the lines.
function top(plot, high) {
  const values = (plot.scaledBy ?? []).flatMap((series) => plot.data[series].filter((value) => value != null));
  const limit = values.length ? Math.min(high, 2 * Math.max(...values)) : high;
  return limit > 0 ? 1.08 * limit : 1;
}

// Dashed lines where inputs shifted, each with a mark on top.
function drawShifts(plot, rows) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = color("--shift");
  ctx.lineWidth = devicePixelRatio;
  for (const row of rows) {
    const x = Math.round(plot.valToPos(row, "x", true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    const size = 5 * devicePixelRatio;
    ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.beginPath();
    ctx.moveTo(x - size, bbox.top);
    ctx.lineTo(x + size, bbox.top);
    ctx.lineTo(x, bbox.top + 1.4 * size);
    ctx.fill();
  }
  ctx.restore();
}

function options(plot, width) {
  const axis = {
    stroke: color("--muted"),
    font: "12px system-ui, sans-serif",
    grid: { stroke: color("--grid"), width: 1 },
    ticks: { show: false },
  };
  const format = (u, values) => values.map((value) => (value == null ? "" : number(value)));
  return {
    width,
    height: plot.height,
    legend: { show: plot.legend },
    padding: [12, 24, 0, 0],
    cursor: { drag: { x: false, y: false }, y: false },
    scales: { x: { time: false }, y: { range: (u, low, high) => [0, top(plot, high)] } },
    bands: plot.band ? [{ series: plot.band, fill: `${color(plot.lines[0].color)}22` }] : [],
    axes: [
      { ...axis, values: format, space: 60, size: 32 },
      { ...axis, values: format, size: 56 },
    ],
    series: [
      { label: "rows", value: (u, value) => whole(value ?? last(u.data[0]) ?? 0) },
      ...plot.lines.map((line) => ({
        label: line.label,
        stroke: color(line.color),
        fill: line.fill && `${color(line.color)}22`,
        width: line.faint ? 0 : 2,
        dash: line.dashed ? [6, 5] : undefined,
        spanGaps: true,
        points: line.faint ? { show: false } : { show: (u, series) => u.data[series].filter((value) => value != null).length < 30, size: 5 },
        value: (u, value, series) => number(value ?? last(u.data[series])),
      })),
    ],
    hooks: { draw: [(u) => drawShifts(u, plot.shifts)] },
  };
}

export class Plot {
  // `lines` have a label and a color, a custom property of the style sheet.
  // `band` names the series at the upper and the lower edge of a filled band. `scaledBy` names the series that
  // set the height of the plot, so that a wide band does not flatten the lines.
  constructor(box, lines, { height = 240, legend = true, band = null, scaledBy = null } = {}) {
    Object.assign(this, { box, lines, height, legend, band, scaledBy, shifts: [], data: null, drawn: "" });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#rebuild());
    new ResizeObserver(() => this.#fit()).observe(box);
  }

  // Replaces the lines; equal lines change nothing.
  set(lines) {
    if (JSON.stringify(lines) === JSON.stringify(this.lines)) return;
    this.plot?.destroy();
    Object.assign(this, { lines, drawn: "", plot: undefined });
  }

  show(data, shifts) {
    const drawn = JSON.stringify([data, shifts]);
    if (drawn === this.drawn) return;
    Object.assign(this, { data, shifts, drawn });
    this.box.dataset.points = data[0].length;
    this.box.classList.toggle("empty", isEmpty(data));
    if (isEmpty(data)) return;
    if (this.plot) this.plot.setData(data);
    else this.#rebuild();
  }

  #rebuild() {
    if (!this.data || isEmpty(this.data)) return;
    this.plot?.destroy();
    this.plot = new uPlot(options(this, this.box.clientWidth), this.data, this.box);
  }

  #fit() {
    if (this.plot && this.box.clientWidth) this.plot.setSize({ width: this.box.clientWidth, height: this.height });
  }
}
