import { until } from '../until.ts';

/**
 * Waits until the program's process for menu imports has started. A busy machine may take longer for that than a caller
 * waits: he gets 503 with `Retry-After`, and the start goes on. `headers`: a credential with `read:menu`.
 */
export const importsAnswer = (url: string, headers: Record<string, string>): Promise<void> =>
  until(async () => {
    const answer = await fetch(`${url}/api/menu/imports`, { headers });
    await answer.arrayBuffer();
    return answer.status === 200;
  }, 180_000);
