/** The lists of a report as JSON text. A report may have tens of thousands of items, so the text is built in slices. */
import type { Pace } from '#src/platform/pace.ts';
import type { Finding, ReportItem } from './report.ts';

type Lists = { items: readonly ReportItem[]; warnings: readonly Finding[]; errors: readonly Finding[] };

const slice = 100;

/** A JSON object of items, warnings and errors. */
export const reportText = async ({ items, warnings, errors }: Lists, pace: Pace): Promise<string> => {
  const arrays: string[] = [];
  for (const [name, elements] of Object.entries({ items, warnings, errors }))
    arrays.push(`${JSON.stringify(name)}:${await arrayText(elements, pace)}`);
  return `{${arrays.join(',')}}`;
};

const arrayText = async (elements: readonly unknown[], pace: Pace): Promise<string> => {
  const texts: string[] = [];
  for (let from = 0; from < elements.length; from += slice) {
    texts.push(JSON.stringify(elements.slice(from, from + slice)).slice(1, -1));
    const pause = pace();
    if (pause !== undefined) await pause;
  }
  return `[${texts.join(',')}]`;
};
