// A heat map on a canvas, with contour lines, axes and the bar that explains its colours.
import { useLayoutEffect, useRef } from "preact/hooks";
import { css, ramp } from "./colour";
import { short, ticks } from "./format";
import type { Numbers } from "./types";

export interface HeatAxis {
  label: string;
  points: number[];
  log: boolean;
}

interface Props {
  x: HeatAxis;
  y: HeatAxis;
  /** One row per point of x. */
  table: Numbers[];
  valueLabel: string;
  marker: [number, number];
  height: number;
  theme: string;
  title: string;
  onPick: (x: number, y: number) => void;
  onHover: (where: { x: number; y: number; value: number | null } | null) => void;
}

const LEFT = 70;
const BOTTOM = 48;
const TOP = 10;
const RIGHT = 96;
const CONTOURS = 8;

export function Heat(props: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const newest = useRef(props);
  newest.current = props;
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => draw(canvas.current!, newest.current));
    observer.observe(canvas.current!.parentElement!);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => draw(canvas.current!, props), [
    props.table, props.marker[0], props.marker[1], props.theme, props.valueLabel, props.height,
  ]);
  const where = (event: MouseEvent) => inside(canvas.current!, props, event);
  const drag = (event: PointerEvent) => {
    const found = where(event);
    if (found && event.buttons) props.onPick(found.x, found.y);
    props.onHover(found);
  };
  return (
    <div class="heat">
      <canvas ref={canvas} role="img" aria-label={props.title} onPointerDown={drag}
        onPointerMove={drag} onPointerLeave={() => props.onHover(null)} />
    </div>
  );
}

/** The place of a value along an axis, 0 to 1, and back. */
function part({ points, log }: HeatAxis, value: number): number {
  const [low, high] = [points[0]!, points.at(-1)!];
  return log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
}

function at({ points, log }: HeatAxis, fraction: number): number {
  const [low, high] = [points[0]!, points.at(-1)!];
  return log ? low * (high / low) ** fraction : low + fraction * (high - low);
}

function frame(canvas: HTMLCanvasElement) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const right = width < 480 ? 84 : RIGHT;
  const left = width < 480 ? 54 : LEFT;
  return { left, top: TOP, width: width - left - right, height: height - TOP - BOTTOM, right };
}

function inside(canvas: HTMLCanvasElement, { x, y, table }: Props, event: MouseEvent) {
  const box = frame(canvas);
  const bounds = canvas.getBoundingClientRect();
  const fx = (event.clientX - bounds.left - box.left) / box.width;
  const fy = 1 - (event.clientY - bounds.top - box.top) / box.height;
  if (fx < 0 || fx > 1 || fy < 0 || fy > 1) return null;
  const i = Math.round(fx * (x.points.length - 1));
  const j = Math.round(fy * (y.points.length - 1));
  return { x: at(x, fx), y: at(y, fy), value: table[i]?.[j] ?? null };
}

export function extent(table: Numbers[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const row of table) {
    for (const value of row) {
      if (value === null) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  return low <= high ? [low, high] : [0, 0];
}

function draw(canvas: HTMLCanvasElement, props: Props): void {
  const ratio = devicePixelRatio || 1;
  canvas.style.height = `${props.height}px`;
  const [width, height] = [canvas.clientWidth, props.height];
  if (!width) return;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const ctx = canvas.getContext("2d")!;
  ctx.scale(ratio, ratio);
  const box = frame(canvas);
  const range = extent(props.table);
  paint(ctx, box, props.table, range);
  contours(ctx, box, props.table, range);
  axes(ctx, box, props);
  bar(ctx, box, range, props.valueLabel);
  cross(ctx, box, part(props.x, props.marker[0]), part(props.y, props.marker[1]));
}

type Frame = ReturnType<typeof frame>;

function paint(ctx: CanvasRenderingContext2D, box: Frame, table: Numbers[], [low, high]: [number, number]): void {
  const [columns, rows] = [table.length, table[0]!.length];
  const pixels = new ImageData(columns, rows);
  table.forEach((column, i) =>
    column.forEach((value, j) => {
      if (value === null) return;
      const colour = ramp(high > low ? (value - low) / (high - low) : 0.5);
      pixels.data.set([...colour, 255], 4 * ((rows - 1 - j) * columns + i));
    }),
  );
  const small = document.createElement("canvas");
  [small.width, small.height] = [columns, rows];
  small.getContext("2d")!.putImageData(pixels, 0, 0);
  ctx.save();
  ctx.imageSmoothingQuality = "high";
  // Pixels are centred on the nodes: the outer half of the outer ones lies outside the frame.
  ctx.drawImage(small, 0.5, 0.5, columns - 1, rows - 1, box.left, box.top, box.width, box.height);
  ctx.restore();
}

/** Marching squares: the segments of a level through each cell. */
function contours(ctx: CanvasRenderingContext2D, box: Frame, table: Numbers[], [low, high]: [number, number]): void {
  if (!(high > low)) return;
  const [columns, rows] = [table.length - 1, table[0]!.length - 1];
  ctx.save();
  ctx.strokeStyle = "rgba(255, 255, 255, 0.35)";
  ctx.lineWidth = 1;
  ctx.beginPath();
  for (let k = 1; k < CONTOURS; k++) {
    const level = low + (k / CONTOURS) * (high - low);
    for (let i = 0; i < columns; i++) {
      for (let j = 0; j < rows; j++) {
        const ends = crossings(table, i, j, level);
        for (let n = 0; n + 1 < ends.length; n += 2) {
          const [a, b] = [ends[n]!, ends[n + 1]!];
          ctx.moveTo(box.left + (a[0] / columns) * box.width, box.top + (1 - a[1] / rows) * box.height);
          ctx.lineTo(box.left + (b[0] / columns) * box.width, box.top + (1 - b[1] / rows) * box.height);
        }
      }
    }
  }
  ctx.stroke();
  ctx.restore();
}

function crossings(table: Numbers[], i: number, j: number, level: number): [number, number][] {
  const corners: [number, number][] = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]];
  const found: [number, number][] = [];
  corners.forEach((a, k) => {
    const b = corners[(k + 1) % 4]!;
    const [u, v] = [table[a[0]]![a[1]], table[b[0]]![b[1]]];
    if (u === null || v === null || u === undefined || v === undefined || u < level === v < level) return;
    const s = (level - u) / (v - u);
    found.push([a[0] + s * (b[0] - a[0]), a[1] + s * (b[1] - a[1])]);
  });
  return found;
}

/** Round numbers within a range, about `count` of them; over decades at most twice as many. */
export function niceTicks({ points, log }: HeatAxis, count: number): number[] {
  const [low, high] = [points[0]!, points.at(-1)!];
  const found: number[] = [];
  if (log) {
    const at = (parts: number[]) => {
      const all: number[] = [];
      for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); e++) all.push(...parts.map((m) => Number(`${m}e${e}`)));
      return all.filter((v) => v >= low && v <= high);
    };
    const marks = [[1, 2, 5], [1, 3], [1]].map(at).find((all, i) => i > 1 || all.length <= 2 * count)!;
    if (marks.length > 1) return marks;
  }
  const raw = (high - low) / count;
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = size * ([1, 2, 5, 10].find((m) => m * size >= raw) ?? 10);
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return found.length > 1 || count > 8 ? found : niceTicks({ label: "", points, log }, count + 1);
}

function axes(ctx: CanvasRenderingContext2D, box: Frame, { x, y }: Props): void {
  ctx.save();
  ctx.fillStyle = css("--muted");
  ctx.font = `12px ${css("--font")}`;
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  const across = niceTicks(x, Math.max(2, Math.floor(box.width / 90)));
  const names = x.log ? across.map((v) => short(v, 3)) : ticks(across);
  across.forEach((v, i) => ctx.fillText(names[i]!, box.left + part(x, v) * box.width, box.top + box.height + 7));
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  const up = niceTicks(y, Math.max(2, Math.floor(box.height / 60)));
  const labels = y.log ? up.map((v) => short(v, 3)) : ticks(up);
  up.forEach((v, i) => ctx.fillText(labels[i]!, box.left - 8, box.top + (1 - part(y, v)) * box.height));
  ctx.font = `600 12px ${css("--font")}`;
  ctx.textAlign = "center";
  ctx.textBaseline = "bottom";
  ctx.fillText(x.label, box.left + box.width / 2, box.top + box.height + BOTTOM - 4);
  ctx.translate(14, box.top + box.height / 2);
  ctx.rotate(-Math.PI / 2);
  ctx.fillText(y.label, 0, 4);
  ctx.restore();
}

function bar(ctx: CanvasRenderingContext2D, box: Frame, [low, high]: [number, number], label: string): void {
  const left = box.left + box.width + 16;
  ctx.save();
  for (let k = 0; k < box.height; k++) {
    ctx.fillStyle = `rgb(${ramp(1 - k / box.height).join(" ")})`;
    ctx.fillRect(left, box.top + k, 12, 1.5);
  }
  ctx.fillStyle = css("--muted");
  ctx.font = `12px ${css("--font")}`;
  ctx.textBaseline = "middle";
  const marks = [0, 0.25, 0.5, 0.75, 1].map((f) => low + f * (high - low));
  marks.forEach((v, i) => {
    const y = box.top + (1 - i / 4) * box.height;
    const name = short(v, 3);
    ctx.fillText(name.length > 6 ? short(v, 2) : name, left + 18, Math.min(box.top + box.height - 6, Math.max(box.top + 6, y)));
  });
  ctx.font = `600 12px ${css("--font")}`;
  ctx.textAlign = "right";
  ctx.textBaseline = "bottom";
  ctx.fillText(label, box.left + box.width + box.right - 6, box.top + box.height + BOTTOM - 4);
  ctx.restore();
}

function cross(ctx: CanvasRenderingContext2D, box: Frame, fx: number, fy: number): void {
  const [x, y] = [box.left + fx * box.width, box.top + (1 - fy) * box.height];
  ctx.save();
  for (const [colour, width] of [["rgba(0, 0, 0, 0.55)", 4], ["#fff", 2]] as const) {
    ctx.strokeStyle = colour;
    ctx.lineWidth = width;
    ctx.beginPath();
    ctx.arc(x, y, 7, 0, 2 * Math.PI);
    ctx.stroke();
  }
  ctx.restore();
}
