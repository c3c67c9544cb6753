// A sheet of quotes: a CSV file with one column per known input, `value` and perhaps `noise`.
import { entriesOf } from "./points";
import type { Solution } from "./types";

export interface Sheet {
  name: string;
  columns: Record<string, number[]>;
  rows: number;
}

/** The columns are not inputs of the solution: it may be a quote sheet. */
export class OtherColumns extends Error {}

/** Read a CSV file, or say in one sentence what is wrong with it. */
export function readSheet(name: string, text: string, solution: Solution): Sheet {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/).filter((line) => line.trim() !== "");
  if (lines.length < 2) throw new Error(`${name} has no quotes: give a line of names and a line per quote.`);
  const separator = /;/.test(lines[0]!) && !/,/.test(lines[0]!.replace(/\[[^\]]*\]/g, "")) ? ";" : /\t/.test(lines[0]!) ? "\t" : ",";
  const [named, ...body] = lines.map((line) => cells(line, separator));
  const names = [...solution.variables.map((v) => v.name), ...entriesOf(solution).map((e) => e.name), "value", "noise"];
  const known = new Map(names.map((each) => [squeezed(each), each]));
  const header = named!.map((column) => {
    const meant = known.get(squeezed(column));
    if (meant) return meant;
    const inputs = solution.variables.map((v) => v.name).join(", ");
    throw new OtherColumns(`${name} has a column “${column}”; expected value, noise and names of inputs: ${inputs}.`);
  });
  const twice = header.find((column, i) => header.indexOf(column) < i);
  if (twice) throw new Error(`${name} has the column “${twice}” twice.`);
  if (!header.includes("value")) throw new OtherColumns(`${name} has no column “value”, the quotes to explain.`);
  const columns: Record<string, number[]> = Object.fromEntries(header.map((h) => [h, []]));
  body.forEach((row, i) => {
    if (row.slice(header.length).some((cell) => cell !== "")) throw new Error(`${name}, line ${i + 2} has ${row.length} cells, the first line ${header.length}.`);
    header.forEach((column, j) => {
      const value = row[j] === undefined || row[j] === "" ? NaN : Number(row[j]);
      if (!Number.isFinite(value)) throw new Error(`${name}, line ${i + 2}: “${row[j] ?? ""}” in column ${column} is not a number.`);
      columns[column]!.push(value);
    });
  });
  return { name, columns, rows: body.length };
}

/** A name without blanks: sigma[0,1] is sigma[0, 1]. */
function squeezed(name: string): string {
  return name.replace(/\s/g, "");
}

function cells(line: string, separator: string): string[] {
  const found = line.match(separator === "," ? /("([^"]|"")*"|[^,]*)(,|$)/g : new RegExp(`[^${separator}]*(${separator}|$)`, "g")) ?? [];
  const plain = found.map((cell) => cell.replace(new RegExp(`${separator}$`), "").trim().replace(/^"|"$/g, "").replaceAll('""', '"'));
  return plain.at(-1) === "" && !line.trimEnd().endsWith(separator) ? plain.slice(0, -1) : plain;
}

export interface Smile {
  label: string;
  rows: number[];
}

/** The column to draw along, and one smile for each combination of the other columns. */
export function smiles(sheet: Sheet): { along: string | null; groups: Smile[] } {
  const inputs = Object.keys(sheet.columns).filter((name) => name !== "value" && name !== "noise");
  const distinct = (name: string) => new Set(sheet.columns[name]).size;
  const along = inputs.toSorted((a, b) => distinct(b) - distinct(a))[0] ?? null;
  const others = inputs.filter((name) => name !== along && distinct(name) > 1);
  const groups = new Map<string, number[]>();
  for (let i = 0; i < sheet.rows; i++) {
    const label = others.map((name) => `${name} = ${sheet.columns[name]![i]}`).join(", ");
    groups.set(label, [...(groups.get(label) ?? []), i]);
  }
  const sorted = [...groups].map(([label, rows]) => ({
    label,
    rows: along ? rows.toSorted((a, b) => sheet.columns[along]![a]! - sheet.columns[along]![b]!) : rows,
  }));
  return { along, groups: sorted };
}
