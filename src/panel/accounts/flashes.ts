/** A message that waits in the session for the next page. */
import type { Kysely } from 'kysely';
import type { Flash } from '../frame/answer.ts';
import { setFlash, takeFlash } from './session-store.ts';

export const createFlashes = (db: Kysely<unknown>) => ({
  keep: (sessionId: string, flash: Flash): Promise<void> => setFlash(db, sessionId, JSON.stringify(flash)),
  take: async (sessionId: string): Promise<Flash | undefined> => {
    const text = await takeFlash(db, sessionId);
    return text === undefined ? undefined : (JSON.parse(text) as Flash);
  },
});
