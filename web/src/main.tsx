// The page: an explorer in front of a server, or a report that carries its network.
import { render } from "preact";
import { useMemo, useState } from "preact/hooks";
import { App } from "./app";
import { Connection, remoteSource, type Health } from "./remote";
import { Report, type ReportData } from "./report";
import "./style.css";
import { useTheme } from "./theme";

function Explorer() {
  const [theme, toggle] = useTheme();
  const [health, setHealth] = useState<Health>({ state: "well" });
  const source = useMemo(() => remoteSource(new Connection(setHealth)), []);
  return <App source={source} theme={theme} onToggleTheme={toggle} health={health} />;
}

const embedded = document.getElementById("report");
const root = document.getElementById("app")!;
if (embedded) render(<Report data={JSON.parse(embedded.textContent!) as ReportData} />, root);
else render(<Explorer />, root);
