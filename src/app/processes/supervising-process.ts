/** The side of a process that serves: what it has from the process that supervises it. */
import cluster from 'node:cluster';
import type { TableState } from '#src/gateway/index.ts';
import { createProcessKv, type Kv } from '#src/platform/kv/index.ts';
import type { Metrics } from '#src/platform/telemetry/metrics.ts';
import type { ReadRoleReadiness } from '../probes/role-readiness.ts';
import type { FirstState, FromProcess, ToProcess } from './messages.ts';

export type SupervisingProcess = {
  /** Before validation: those of the other processes. */
  settings: FirstState['settings'];
  /** Served by the other processes; undefined: none has read it yet. */
  table: TableState | undefined;
  /** For processes that start later. */
  keepTable(table: TableState): void;
  /** Aborted when this process has to end its running requests and stop. */
  stopping: AbortSignal;
  onReload(listener: () => void): void;
  /** Counts together with the other processes. */
  kv: Kv;
  /** missing: fewer processes serve than the setting asks for. */
  processes(): 'ok' | 'missing';
  answerScrapes(metrics: Pick<Metrics, 'read'>): void;
  answerProbes(read: ReadRoleReadiness): void;
  serving(url: string): void;
};

/**
 * Resolves when the supervising process has sent what this one starts with; to undefined when no process supervises
 * this one. When the supervising process ends without a message, node:cluster ends this one at once.
 */
export const findSupervisingProcess = async (): Promise<SupervisingProcess | undefined> => {
  const { worker } = cluster;
  if (worker === undefined || worker === null) return undefined;
  const send = (message: FromProcess): void => {
    if (worker.isConnected()) worker.send(message);
  };
  const first = Promise.withResolvers<FirstState>();
  let kv: ReturnType<typeof createProcessKv> | undefined;
  const stopping = new AbortController();
  let serving: number | undefined;
  let reload = (): void => undefined;
  let read: Metrics['read'] | undefined;
  let readReadiness: ReadRoleReadiness | undefined;
  const answerProbe = async (id: number): Promise<void> => {
    const readiness = await readReadiness?.();
    send({ kind: 'probed', id, ...(readiness && { readiness }) });
  };
  const answerScrape = async (id: number): Promise<void> => {
    const reading = await read?.().catch(() => undefined);
    send({ kind: 'reading', id, ...(reading && { reading }) });
  };
  worker.on('message', (message: ToProcess) => {
    if (message.kind === 'first') first.resolve(message.first);
    else if (message.kind === 'answers') kv?.receiveAnswers(message.answers);
    else if (message.kind === 'published') kv?.receiveMessage(message.channel, message.message);
    else if (message.kind === 'read') void answerScrape(message.id);
    else if (message.kind === 'probe') void answerProbe(message.id);
    else if (message.kind === 'state') serving = message.serving;
    else if (message.kind === 'reload') reload();
    else stopping.abort();
  });
  // A terminal and a service manager send signals to every process of a group. The supervising process forwards them.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);
  send({ kind: 'begin' });
  const { count, settings, table } = await first.promise;
  // A start that failed, or a stop that is done, ends the process although the channel is open.
  process.channel?.unref();
  kv = createProcessKv({
    sharers: count,
    ask: (asks) => send({ kind: 'asks', asks }),
    publish: (channel, message) => send({ kind: 'publish', channel, message }),
  });
  return {
    settings,
    table,
    keepTable: (now) => send({ kind: 'table', table: now }),
    stopping: stopping.signal,
    onReload: (listener) => {
      reload = listener;
    },
    kv,
    processes: () => ((serving ?? count) < count ? 'missing' : 'ok'),
    answerScrapes: (metrics) => {
      read = metrics.read;
    },
    answerProbes: (given) => {
      readReadiness = given;
    },
    serving: (url) => send({ kind: 'serving', url }),
  };
};
