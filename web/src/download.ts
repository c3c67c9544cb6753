// Files that the page makes itself.
import { css } from "./colour";

export function saveText(name: string, text: string, type = "text/csv"): void {
  save(name, new Blob([text], { type }));
}

function save(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** All plots of a section where they stand, and their captions, in the page's own colours. */
export function savePicture(name: string, section: Element): void {
  const plots = [...section.querySelectorAll("canvas")];
  if (!plots.length) return;
  const captions = [...section.querySelectorAll("figcaption")];
  const boxes = [...plots, ...captions].map((each) => each.getBoundingClientRect());
  const [left, top] = [Math.min(...boxes.map((b) => b.left)), Math.min(...boxes.map((b) => b.top))];
  const [right, bottom] = [Math.max(...boxes.map((b) => b.right)), Math.max(...boxes.map((b) => b.bottom))];
  const scale = plots[0]!.width / boxes[0]!.width;
  const whole = document.createElement("canvas");
  [whole.width, whole.height] = [Math.ceil((right - left) * scale), Math.ceil((bottom - top) * scale)];
  const ctx = whole.getContext("2d")!;
  ctx.fillStyle = css("--surface");
  ctx.fillRect(0, 0, whole.width, whole.height);
  ctx.scale(scale, scale);
  ctx.translate(-left, -top);
  plots.forEach((plot, i) => ctx.drawImage(plot, boxes[i]!.x, boxes[i]!.y, boxes[i]!.width, boxes[i]!.height));
  [ctx.fillStyle, ctx.font, ctx.textBaseline] = [css("--text"), `600 13px ${css("--font")}`, "top"];
  captions.forEach((caption, i) => {
    const box = boxes[plots.length + i]!;
    ctx.fillText(caption.textContent ?? "", box.x, box.y + 3);
  });
  whole.toBlob((blob) => blob && save(name, blob));
}

/** Columns with their names in the first line; what is missing is empty. */
export function csv(columns: Record<string, (number | null | undefined)[]>): string {
  const names = Object.keys(columns);
  const length = Math.max(0, ...Object.values(columns).map((values) => values.length));
  const quoted = names.map((name) => (/[",\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name));
  const rows = Array.from({ length }, (_, i) => names.map((name) => columns[name]![i] ?? "").join(","));
  return [quoted.join(","), ...rows, ""].join("\n");
}
