/**
 * One page of metrics for all processes. A process that does not answer in time has its totals of the last scrape in it, so a
 * scrape never waits for a process that hangs. Totals of processes that ended stay, since a total that falls looks like a
 * restart to Prometheus, which would then count the totals of all others again.
 */
import {
  type Metrics,
  type MetricsReading,
  type RenderedMetrics,
  renderReadings,
  totalsOf,
} from '#src/platform/telemetry/metrics.ts';
import { createQuestions } from './questions.ts';

/** `ask` sends the question; its answer comes to `receive`. */
export type Scraped = { ask(id: number): void };

export type GatherMetrics = {
  render(): Promise<RenderedMetrics>;
  receive(from: Scraped, id: number, reading: MetricsReading | undefined): void;
  ended(process: Scraped): void;
};

type GatherDeps = {
  /** Of the supervising process. */
  own: Pick<Metrics, 'read'>;
  serving(): readonly Scraped[];
};

const waitMsMax = 1_000;

export const createGatherMetrics = ({ own, serving }: GatherDeps): GatherMetrics => {
  const last = new Map<Scraped, MetricsReading>();
  /** Their totals are in `former`, so nothing else of them may be counted. */
  const over = new WeakSet<Scraped>();
  const questions = createQuestions<MetricsReading>(waitMsMax);
  let former: MetricsReading = [];
  /** Totals are added one after the other. */
  let adding: Promise<void> = Promise.resolve();

  const ask = async (process: Scraped): Promise<MetricsReading> => {
    const reading = await questions.ask((id) => process.ask(id));
    if (reading !== undefined) return reading;
    const before = last.get(process);
    return before === undefined ? [] : totalsOf([before]);
  };

  const askAll = (): Promise<{ process: Scraped; reading: MetricsReading }[]> =>
    Promise.all(serving().map(async (process) => ({ process, reading: await ask(process) })));

  return {
    render: async () => {
      const [ours, answers] = await Promise.all([own.read(), askAll()]);
      let added: Promise<void>;
      // While the totals of one process are added, another may end.
      do {
        added = adding;
        await added;
      } while (added !== adding);
      const readings = answers.filter(({ process }) => !over.has(process)).map(({ reading }) => reading);
      return renderReadings([ours, ...readings, former]);
    },
    receive: (process, id, reading) => {
      // A message may arrive after the end of its process.
      if (reading !== undefined && !over.has(process)) last.set(process, reading);
      questions.receive(id, reading);
    },
    ended: (process) => {
      const reading = last.get(process);
      over.add(process);
      last.delete(process);
      if (reading === undefined) return;
      adding = adding.then(async () => {
        former = await totalsOf([former, reading]);
      });
    },
  };
};
