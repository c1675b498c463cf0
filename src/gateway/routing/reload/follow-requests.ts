/** Service that carries out requests to reload the route table, and tells the database what this gateway serves. */
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
  let told: Reloaded | undefined;
  let toldAtMs = Number.NEGATIVE_INFINITY;

  const stateNow = (): Reloaded => {
    const problems = reloader.problems().slice(0, problemsMax);
    const { version } = reloader.current();
    return { version, problems, result: problems.length > 0 ? 'refused' : 'reloaded' };
  };

  const tell = async (): Promise<void> => {
    const state = stateNow();
    if (JSON.stringify(state) === JSON.stringify(told) && performance.now() - toldAtMs < renewEveryMs) return;
    await writeServed(db, processId, { gateway, request, ...state });
    told = state;
    toldAtMs = performance.now();
  };

  return {
    name: 'route-table-reload',
    run: async (signal) => {
      while (!signal.aborted) {
        const asked = await readRequest(db);
        if (asked.number !== request) {
          await reloader.reload(asked.actor);
          request = asked.number;
          told = undefined;
        }
        await tell();
        await pause(lookEveryMs, signal);
      }
      await deleteServed(db, processId);
    },
  };
};
