/** Service that carries out requests to reload the route table, and writes to the database what this gateway serves. */
import { randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { createPoll, type Poll } from '#src/platform/wake.ts';
import type { Reloaded, TableReloader } from './reload-table.ts';
import { deleteServed, type ReloadRequest, renewServed, requestNumber, writeServed } from './served-store.ts';

type FollowDeps = {
  db: Kysely<unknown>;
  reloader: TableReloader;
  /** Shown to the operator. */
  gateway: string;
  requests: RequestWatch;
  /** A request was carried out. */
  onDone(): void;
};

/** The watch of the credentials reads the number of the last request with each of its readings, several times a second. */
export type RequestWatch = {
  /** The number of the last request that this gateway carried out, or that was there when it read its table. */
  done: number;
  poll: Poll;
  beside: { column: string; onRead(number: number): void };
};

/** chosen: while the other watch reads nothing. A change is served within a second of its request (interface 19). */
const lookEveryMs = 1_000;
/** chosen: the row of a gateway counts for 15 s (request-reload.ts). */
const renewEveryMs = 4_000;

export const createRequestWatch = (first: number): RequestWatch => {
  const poll = createPoll({ pollMs: lookEveryMs, quietMs: renewEveryMs });
  const watch = {
    done: first,
    poll,
    beside: {
      column: requestNumber,
      onRead: (number: number): void => (number === watch.done ? poll.none() : poll.now()),
    },
  };
  return watch;
};

/** chosen: a request is tried again, while the row of the gateway stays alive. */
const againMs = 2_000;

/** Longer lists are in the log. */
const problemsMax = 100;

export const createFollowRequests = ({ db, reloader, gateway, requests, onDone }: FollowDeps): Service => {
  const processId = randomUUID();
  let written: Reloaded | undefined;
  let tried = requests.done;

  const carryOut = async ({ number, actor }: ReloadRequest): Promise<void> => {
    const { isUnwritten = false } = await reloader.reload(actor, number === tried);
    tried = number;
    written = undefined;
    if (isUnwritten) return;
    requests.done = number;
    onDone();
  };

  const stateNow = (): Reloaded => {
    const problems = reloader.problems().slice(0, problemsMax);
    const { version } = reloader.current();
    return { version, problems, result: problems.length > 0 ? 'refused' : 'reloaded' };
  };

  const writeState = async (isRenewed: boolean): Promise<void> => {
    const state = stateNow();
    if (isRenewed && JSON.stringify(state) === JSON.stringify(written)) return;
    await writeServed(db, processId, { gateway, request: requests.done, ...state });
    written = state;
  };

  return {
    name: 'route-table-reload',
    run: async (signal) => {
      const wait = requests.poll.begin(signal);
      while (!signal.aborted) {
        const asked = await renewServed(db, processId);
        if (asked.number !== requests.done) await carryOut(asked);
        await writeState(asked.isRenewed);
        await (asked.number === requests.done ? wait() : pause(againMs, signal));
      }
      await deleteServed(db, processId);
    },
  };
};
