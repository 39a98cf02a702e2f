import { render } from "preact";
import { App } from "./App.tsx";
import { connect } from "./calls.ts";
import { httpTransport } from "./httpTransport.ts";
import "./styles.css";

connect(httpTransport);
render(<App />, document.getElementById("app") as HTMLElement);
