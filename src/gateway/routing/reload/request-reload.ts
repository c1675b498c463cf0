/** Has every running gateway read its route table again, and waits for their results. */
import type { Kysely } from 'kysely';
import { insertRequest, listServed, type SeenTable } from './served-store.ts';

/** A gateway renews its row more often than this. */
const aliveSeconds = 15;
/** chosen: a gateway that was killed leaves its row; the operator sees for a minute that it has ended. */
const shownSeconds = 60;
const lookEveryMs = 200;

/** `silent`: gateways that have not carried it out within the time. */
export type ReloadAnswers = { gateways: SeenTable[]; silent: string[] };

/** What each running gateway serves. */
export const listServedTables = (db: Kysely<unknown>): Promise<SeenTable[]> => listServed(db, aliveSeconds);

/** With those that were killed or stopped answering within the last minute. */
export const listSeenTables = (db: Kysely<unknown>): Promise<SeenTable[]> => listServed(db, shownSeconds);

export const requestReload = async (db: Kysely<unknown>, actor: string, waitMsMax: number): Promise<ReloadAnswers> => {
  const number = await insertRequest(db, actor);
  const endMs = performance.now() + waitMsMax;
  for (;;) {
    const gateways = await listServedTables(db);
    const silent = gateways.filter(({ request }) => request < number).map(({ gateway }) => gateway);
    if (silent.length === 0 || performance.now() > endMs) return { gateways, silent };
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }
};
