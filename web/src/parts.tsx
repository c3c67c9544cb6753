// Small pieces that several views share.
import type { ComponentChildren } from "preact";
import { savePicture } from "./download";
import { inputMeaning, quantityLabel, symbol } from "./format";
import { entriesOf } from "./points";
import { quantities } from "./state";
import type { Solution } from "./types";

interface ChoiceProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  children: ComponentChildren;
}

export function Select({ label, value, onChange, children }: ChoiceProps) {
  return (
    <label class="choice">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>{children}</select>
    </label>
  );
}

interface PickProps {
  label: string;
  solution: Solution;
  value: string;
  onChange: (value: string) => void;
}

/** A select of all inputs that vary. */
export function InputSelect({ label, solution, value, onChange }: PickProps) {
  const free = entriesOf(solution).filter((entry) => !entry.fixed);
  const alone = solution.variables.every((variable) => variable.entries.length === 1);
  const option = (name: string) => <option key={name} value={name}>{alone ? inputMeaning(name) : symbol(name)}</option>;
  return (
    <Select label={label} value={value} onChange={onChange}>
      {alone
        ? free.map((entry) => option(entry.name))
        : solution.variables.map((variable) => (
            <optgroup key={variable.name} label={variable.name}>
              {free.filter((e) => e.variable === variable.name).map((e) => option(e.name))}
            </optgroup>
          ))}
    </Select>
  );
}

export function QuantitySelect({ solution, value, onChange }: Omit<PickProps, "label">) {
  const { greeks, slopes } = quantities(solution);
  const option = ({ name }: { name: string }) => <option key={name} value={name}>{quantityLabel(name)}</option>;
  return (
    <Select label="Show" value={value} onChange={onChange}>
      <option value="value">u (value)</option>
      {greeks.length > 0 && <optgroup label="Greeks">{greeks.map(option)}</optgroup>}
      <optgroup label="First derivatives">{slopes.map(option)}</optgroup>
    </Select>
  );
}

/** Saves the plots of the section it stands in. */
export function PictureButton({ name }: { name: string }) {
  return (
    <button type="button" class="quiet" onClick={(e) => savePicture(`${name}.png`, e.currentTarget.closest("section")!)}>PNG</button>
  );
}

export function Busy({ on, children }: { on: boolean; children: ComponentChildren }) {
  return <div class="busyable" aria-busy={on}>{children}</div>;
}

export function Problem({ text }: { text: string }) {
  return text ? <p class="problem" role="alert">{text}</p> : null;
}

export function Tile({ name, value, note }: { name: ComponentChildren; value: string; note?: ComponentChildren }) {
  return (
    <div class="tile">
      <span class="tile-name">{name}</span>
      <span class="tile-value">{value}</span>
      {note && <span class="tile-note">{note}</span>}
    </div>
  );
}
