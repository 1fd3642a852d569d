/** The worker of "how sure": draws for an estimate whose script lies beside this one. */
import { DRAWS, startDraws } from "./analysis.js";

self.onmessage = ({ data: { id, estimate, values } }) => {
  if (!self.bookEstimates?.[estimate]) importScripts(`estimates/${estimate}.js`);
  const { spec, module } = self.bookEstimates[estimate];
  const run = startDraws(spec, module, values);
  while (run.advance(DRAWS));
  self.postMessage({ id, answer: run.answer() });
};
