/** Lists tokens that are valid now. A search goes back only as far as the longest token lifetime, in bounded pages. */
import { readCursor, writeCursor } from '../audit/search/cursor.ts';
import { type AuditReaderDeps, noteAuditRead } from '../audit/search/search-audit.ts';
import { readTokenEnds } from '../credentials/show/token-end-store.ts';
import { type IssuedToken, listIssuedTokens } from './issued-tokens.ts';

const pageEvents = 200;
const pagesMax = 10;

export type LiveTokens = {
  tokens: IssuedToken[];
  /** Cursor for older tokens; undefined at the end. A page may be short or empty where many tokens were revoked. */
  next: string | undefined;
};

/** Newest first. VALIDATION_ERROR for a malformed cursor. */
export const listLiveTokens = async (
  deps: AuditReaderDeps,
  { before, limit }: { before?: string | undefined; limit: number },
): Promise<LiveTokens> => {
  let place = before === undefined ? undefined : readCursor(before);
  await noteAuditRead(deps, { read: 'live-tokens', before, limit });
  const { tokenSecondsMax } = await readTokenEnds(deps.db, { tokens: [], clients: [], thumbprints: [] });
  const since = new Date(deps.clock.now().getTime() - tokenSecondsMax * 1000);
  const live: IssuedToken[] = [];
  for (let i = 0; i < pagesMax; i += 1) {
    const { tokens, places, next } = await listIssuedTokens(deps, { since }, place, pageEvents);
    for (const [index, token] of tokens.entries()) {
      place = places[index];
      if (token.state === 'live') live.push(token);
      if (live.length < limit) continue;
      const isLast = next === undefined && index === tokens.length - 1;
      return { tokens: live, next: isLast || place === undefined ? undefined : writeCursor(place) };
    }
    place = next;
    if (place === undefined) return { tokens: live, next: undefined };
  }
  return { tokens: live, next: place && writeCursor(place) };
};
