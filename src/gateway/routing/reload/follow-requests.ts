/** Service that carries out requests to reload the route table, and writes to the database what this gateway serves. */
import { randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import { pause, type Service } from '#src/platform/supervisor.ts';
import type { Reloaded, TableReloader } from './reload-table.ts';
import { deleteServed, readRequest, writeServed } from './served-store.ts';

type FollowDeps = {
  db: Kysely<unknown>;
  reloader: TableReloader;
  /** Shown to the operator. */
  gateway: string;
  /** The number of the last request when this gateway read its table. */
  firstRequest: number;
};

const lookEveryMs = 1_000;
const renewEveryMs = 4_000;

/** Longer lists are in the log. */
const problemsMax = 100;

export const createFollowRequests = ({ db, reloader, gateway, firstRequest }: FollowDeps): Service => {
  const processId = randomUUID();
  let request = firstRequest;
  let written: Reloaded | undefined;
  let writtenAtMs = Number.NEGATIVE_INFINITY;

  const stateNow = (): Reloaded => {
    const problems = reloader.problems().slice(0, problemsMax);
    const { version } = reloader.current();
    return { version, problems, result: problems.length > 0 ? 'refused' : 'reloaded' };
  };

  const writeState = async (): Promise<void> => {
    const state = stateNow();
    if (JSON.stringify(state) === JSON.stringify(written) && performance.now() - writtenAtMs < renewEveryMs) return;
    await writeServed(db, processId, { gateway, request, ...state });
    written = state;
    writtenAtMs = performance.now();
  };

  return {
    name: 'route-table-reload',
    run: async (signal) => {
      while (!signal.aborted) {
        const asked = await readRequest(db);
        if (asked.number !== request) {
          await reloader.reload(asked.actor);
          request = asked.number;
          written = undefined;
        }
        await writeState();
        await pause(lookEveryMs, signal);
      }
      await deleteServed(db, processId);
    },
  };
};
