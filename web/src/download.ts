// Files that the page makes itself.

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

/** The canvas on the page's own background. */
export function savePicture(name: string, canvas: HTMLCanvasElement | null, background: string): void {
  if (!canvas) return;
  const whole = document.createElement("canvas");
  [whole.width, whole.height] = [canvas.width, canvas.height];
  const ctx = whole.getContext("2d")!;
  ctx.fillStyle = background;
  ctx.fillRect(0, 0, whole.width, whole.height);
  ctx.drawImage(canvas, 0, 0);
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
