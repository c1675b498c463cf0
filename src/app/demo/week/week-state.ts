/** How far the demo's week is filled in. It holds no secret: a continued week gives its client a new one. */
import type { Kysely } from 'kysely';
import { readFact, writeFact } from '#src/platform/db/facts.ts';
import type { WeekTimes } from './plan-week.ts';

export type WeekState = WeekTimes & {
  /** Everything up to here is stored; undefined: nothing yet. */
  done?: number;
  /** Id of the second client. */
  courier?: string;
  /** The endpoint whose receiver refuses. */
  failing?: string;
  finished?: boolean;
};

const factName = 'demo.week';

export const readWeek = async (db: Kysely<unknown>): Promise<WeekState | undefined> => {
  const kept = await readFact(db, factName);
  return kept === undefined ? undefined : (JSON.parse(kept) as WeekState);
};

export const writeWeek = (db: Kysely<unknown>, state: WeekState): Promise<void> =>
  writeFact(db, factName, JSON.stringify(state));
