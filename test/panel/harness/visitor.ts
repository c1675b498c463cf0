/** A signed-in user without a browser, for what a page answers. */
import type { PanelHarness, Role } from './panel-harness.ts';

type Answer = { status: number; location: string; text: string };

export type Visitor = Awaited<ReturnType<typeof signInVisitor>>;

/** `of`: as `harness.user` has it. `path`: below /panel, as is the location of an answer. */
export const signInVisitor = async (harness: PanelHarness, role: Role, of?: readonly string[]) => {
  const user = await harness.user(role, of);
  const cookie = await harness.cookieOf(user);
  const send = async (path: string, body?: URLSearchParams): Promise<Answer> => {
    const answer = await fetch(`${harness.url}/panel${path}`, {
      redirect: 'manual',
      headers: { cookie, origin: harness.url },
      ...(body && { method: 'POST', body }),
    });
    const location = (answer.headers.get('location') ?? '').replace(/^\/panel/, '');
    return { status: answer.status, location, text: await answer.text() };
  };
  const csrf = /name="csrf" value="([^"]+)"/.exec((await send('/account')).text)?.[1] ?? '';
  return {
    user,
    get: (path: string): Promise<Answer> => send(path),
    post: (path: string, fields: Record<string, string> | [string, string][] = {}): Promise<Answer> =>
      send(path, new URLSearchParams([['csrf', csrf], ...(Array.isArray(fields) ? fields : Object.entries(fields))])),
  };
};
