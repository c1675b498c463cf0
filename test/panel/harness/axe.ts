/** What axe finds on a page. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** One sentence for each rule that the page breaks as it is now. */
export const violationsOf = async (page: Page): Promise<string[]> => {
  // Over the debugging protocol, which the content policy does not hold for.
  if (await page.evaluate(`typeof axe === 'undefined'`)) await page.evaluate(axeSource);
  const found = (await page.evaluate(`axe.run(document, { resultTypes: ['violations'] })`)) as {
    violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[];
  };
  return found.violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join('; ')}`,
  );
};
