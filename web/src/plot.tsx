// A line plot by uPlot: lines, points with error bars, and a marker at the current input.
import { useLayoutEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { css } from "./colour";
import { short, ticks } from "./format";
import { niceTicks } from "./heat";
import type { Numbers } from "./types";

export interface Line {
  label: string;
  values: Numbers;
  /** A custom property of the style sheet. */
  colour: string;
  dash?: number[];
  width?: number;
  /** Points instead of a line. */
  dots?: boolean;
}

export interface Bars {
  label: string;
  x: number[];
  y: Numbers;
  half: Numbers;
  colour: string;
}

interface Props {
  x: number[];
  lines: Line[];
  bars?: Bars | null;
  xLabel: string;
  yLabel: string;
  logX?: boolean;
  logY?: boolean;
  marker?: number | null;
  height: number;
  theme: string;
  /** What a screen reader says. */
  title: string;
  onPick?: (x: number) => void;
  onHover?: (index: number | null) => void;
}

const AXIS = 58; // width of the numbers at the left, the same for plots below each other

/** What the draw hooks read: always the newest. */
interface Extras {
  bars: Bars | null;
  marker: number | null;
  onPick?: (x: number) => void;
  onHover?: (index: number | null) => void;
}

export function Plot(props: Props) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const extras = useRef<Extras>({ bars: null, marker: null });
  extras.current = { bars: props.bars ?? null, marker: props.marker ?? null };
  if (props.onPick) extras.current.onPick = props.onPick;
  if (props.onHover) extras.current.onHover = props.onHover;
  const data = [props.x, ...props.lines.map((line) => line.values)] as uPlot.AlignedData;
  const structure = JSON.stringify([
    props.xLabel, props.yLabel, props.logX, props.logY, props.height, props.theme,
    props.lines.map(({ label, colour, dash, dots }) => [label, colour, dash, dots]),
  ]);

  useLayoutEffect(() => {
    const made = new uPlot(options(props, host.current!.clientWidth, extras), data, host.current!);
    plot.current = made;
    const observer = new ResizeObserver(([entry]) =>
      made.setSize({ width: Math.floor(entry!.contentRect.width), height: props.height }),
    );
    observer.observe(host.current!);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [structure]);

  useLayoutEffect(() => {
    plot.current?.setData(data);
  }, [props.x, props.marker, props.bars, ...props.lines.map((line) => line.values)]);

  return <div class="plot" ref={host} role="img" aria-label={props.title} />;
}

function options(props: Props, width: number, extras: { current: Extras }): uPlot.Options {
  const font = `12px ${css("--font")}`;
  const axis = (label: string): uPlot.Axis => ({
    label,
    font,
    labelFont: `600 12px ${css("--font")}`,
    labelSize: 20,
    labelGap: 2,
    gap: 6,
    stroke: css("--muted"),
    grid: { stroke: css("--grid"), width: 1 },
    ticks: { show: false },
    values: (_, splits) => ticks(splits.map((v) => v ?? NaN)).map((s, i) => (splits[i] === null ? "" : s)),
  });
  const logAxis = (label: string): uPlot.Axis => ({
    ...axis(label),
    splits: (u, i, low, high) => niceTicks({ label, points: [low, high], log: true }, (i ? u.height : u.width - AXIS) / 90),
    filter: (_, splits) => splits,
    values: (_, splits) => splits.map((v) => (v === null ? "" : short(v, 3))),
  });
  return {
    width,
    height: props.height,
    legend: { show: false },
    padding: [10, 22, 0, 0],
    cursor: {
      y: false,
      points: { size: 8 },
      drag: { x: false, y: false, setScale: false },
      bind: { click: (u) => () => (pick(u, extras.current), null) },
    },
    scales: {
      x: { time: false, distr: props.logX ? 3 : 1, ...(props.logX ? { range: (_: uPlot, low: number, high: number): [number, number] => [low, high] } : {}) },
      y: { distr: props.logY ? 3 : 1, range: props.logY ? undefined! : (u, low, high) => widened(low, high, extras.current.bars) },
    },
    axes: [
      { ...(props.logX ? logAxis : axis)(props.xLabel), size: 26, ...(props.xLabel ? {} : { labelSize: 0 }) },
      { ...(props.logY ? logAxis : axis)(props.yLabel), size: AXIS },
    ],
    series: [{}, ...props.lines.map(series)],
    hooks: {
      setCursor: [(u) => extras.current.onHover?.(u.cursor.idx ?? null)],
      draw: [(u) => drawMarker(u, extras.current), (u) => drawBars(u, extras.current)],
    },
  };
}

function series(line: Line): uPlot.Series {
  const stroke = css(line.colour);
  return {
    label: line.label,
    pxAlign: 0,
    stroke,
    width: line.width ?? 2,
    ...(line.dash ? { dash: line.dash } : {}),
    ...(line.dots ? { paths: () => null, points: { show: true, size: 7, fill: stroke, stroke } } : { points: { show: false } }),
  };
}

/** A little room above and below; a constant gets room of its own. */
function widened(low: number | null, high: number | null, bars: Bars | null): [number, number] {
  let [a, b] = [low ?? 0, high ?? 1];
  bars?.y.forEach((y, i) => {
    if (y === null) return;
    a = Math.min(a, y - (bars.half[i] ?? 0));
    b = Math.max(b, y + (bars.half[i] ?? 0));
  });
  const room = b > a ? 0.06 * (b - a) : Math.abs(a) * 0.1 || 1;
  return [a - room, b + room];
}

function pick(u: uPlot, { onPick }: Extras): void {
  if (onPick && u.cursor.left !== undefined && u.cursor.left >= 0) onPick(u.posToVal(u.cursor.left, "x"));
}

function drawMarker(u: uPlot, { marker }: Extras): void {
  if (marker === null) return;
  const { ctx, bbox } = u;
  const x = Math.round(u.valToPos(marker, "x", true));
  ctx.save();
  ctx.strokeStyle = css("--muted");
  ctx.setLineDash([3 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.lineWidth = devicePixelRatio;
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
}

function drawBars(u: uPlot, { bars }: Extras): void {
  if (!bars) return;
  const { ctx } = u;
  const size = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = css(bars.colour);
  ctx.lineWidth = 1.5 * size;
  bars.x.forEach((value, i) => {
    const y = bars.y[i];
    if (y === null || y === undefined) return;
    const half = bars.half[i] ?? 0;
    const [at, middle, top, bottom] = [
      u.valToPos(value, "x", true), u.valToPos(y, "y", true),
      u.valToPos(y + half, "y", true), u.valToPos(y - half, "y", true),
    ];
    ctx.beginPath();
    ctx.moveTo(at, top);
    ctx.lineTo(at, bottom);
    for (const end of [top, bottom]) {
      ctx.moveTo(at - 4 * size, end);
      ctx.lineTo(at + 4 * size, end);
    }
    ctx.stroke();
    ctx.beginPath();
    ctx.arc(at, middle, 3 * size, 0, 2 * Math.PI);
    ctx.fill();
  });
  ctx.restore();
}
