/** Has every running gateway read its route table again, and waits for their results. */
import type { Kysely } from 'kysely';
import { insertRequest, listServed, type ServedTable } from './served-store.ts';

/** A gateway renews its row more often than this. */
const aliveSeconds = 15;
const lookEveryMs = 200;

/** `silent`: gateways that have not carried it out within the time. */
export type ReloadAnswers = { gateways: ServedTable[]; silent: string[] };

/** What each running gateway serves. */
export const listServedTables = (db: Kysely<unknown>): Promise<ServedTable[]> => listServed(db, aliveSeconds);

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
