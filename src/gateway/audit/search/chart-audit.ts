/** Charts of issued tokens, allowed requests and refusals over time, from the hourly counts. */
import { Fault } from '#src/contract/fault.ts';
import {
  type ChartDimension,
  type ChartWindow,
  type Counted,
  chartDimensions,
  sumHours,
  topValues,
} from './hours-store.ts';
import { type AuditReaderDeps, assertNoCredential, noteAuditRead } from './search-audit.ts';

export type { ChartDimension } from './hours-store.ts';

const hourSeconds = 3_600;

/** Days -> size of a bucket in hours. */
const windows: Readonly<Record<number, number>> = { 1: 1, 7: 6, 30: 24 };

type ChartSeries = { issued: number[]; used: number[]; refused: number[] };

export type AuditChart = {
  /** Beginning of the first bucket, on the hour. */
  from: Date;
  bucketSeconds: number;
  buckets: number;
  /** The series of everything, or of the requested value. */
  total: ChartSeries;
  /** The most frequent values first. '' is the unknown value, '*' sums up the values beyond the bound of an hour. */
  values: { value: string; series: ChartSeries }[];
};

const valuesShown = 10;

/** `days`: 1, 7 or 30, including the current hour. VALIDATION_ERROR for another window, or for a value with a credential. */
export const chartAudit = async (
  deps: AuditReaderDeps,
  { days, dimension, value }: { days: number; dimension: ChartDimension; value?: string | undefined },
): Promise<AuditChart> => {
  const bucketHours = windows[days];
  if (bucketHours === undefined || !chartDimensions.includes(dimension))
    throw new Fault('VALIDATION_ERROR', 'There is no such chart');
  // Whatever the dimension is: the value is recorded in the audit.
  assertNoCredential({ client: value });
  await noteAuditRead(deps, { read: 'chart', days, dimension, value });
  const hourMs = hourSeconds * 1000;
  const end = (Math.floor(deps.clock.now().getTime() / hourMs) + 1) * hourMs;
  const buckets = (days * 24) / bucketHours;
  const window: ChartWindow = {
    from: new Date(end - days * 24 * hourMs),
    bucketSeconds: bucketHours * hourSeconds,
    buckets,
  };
  const values = await topValues(deps.db, window, dimension, valuesShown);
  const asked = value === undefined || values.includes(value) ? values : [...values, value];
  const counted = await sumHours(deps.db, window, { dimension, values: asked });
  const of = (name: string) =>
    seriesOf(
      counted.filter((row) => row.value === name),
      buckets,
    );
  return {
    ...window,
    total: value === undefined ? seriesOf(await sumHours(deps.db, window, undefined), buckets) : of(value),
    values: values.map((name) => ({ value: name, series: of(name) })),
  };
};

const seriesOf = (rows: readonly Counted[], buckets: number): ChartSeries => {
  const empty = (): number[] => new Array<number>(buckets).fill(0);
  const series = { issued: empty(), used: empty(), refused: empty() };
  for (const { what, bucket, count } of rows) series[what][bucket] = count;
  return series;
};
