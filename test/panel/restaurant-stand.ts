/** A panel with an owner in front of it, a receiver of webhooks behind it, and a program that makes events through the API. */
import { expect } from 'vitest';
import { startReceiver } from '../support/webhook-receiver.ts';
import { type Role, type StandUser, startPanelStand } from './panel-stand.ts';

export type RestaurantStand = Awaited<ReturnType<typeof startRestaurantStand>>;

export const startRestaurantStand = async (role: Role = 'owner') => {
  const stand = await startPanelStand();
  const receiver = await startReceiver();
  const [restuid = '', others = ''] = stand.restaurants;
  const owner: StandUser = await stand.user(role);
  const { page, problems } = await stand.signIn(owner);
  const key = await stand.command('key', 'create', '--restaurant', restuid, '--name', 'events');
  const base = `${stand.url}/panel/restaurants/${restuid}`;
  let session: { cookie: string; token: string } | undefined;
  const openSession = async () => {
    const cookie = await stand.cookieOf(owner);
    const text = await (await fetch(base, { headers: { cookie } })).text();
    return { cookie, token: /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? '' };
  };
  let count = 0;
  return {
    ...stand,
    receiver,
    /** Who is signed in on the page. */
    owner,
    page,
    problems,
    restuid,
    /** A restaurant that is none of the owner's. */
    others,
    place: base,
    /** A customer of the restaurant, made as its till makes them; returns the email. */
    createCustomer: async (): Promise<string> => {
      count += 1;
      const email = `guest${count}@example.com`;
      const answer = await fetch(`${stand.url}/api/customer/create`, {
        method: 'POST',
        headers: { 'x-api-key': key.api_key ?? '', 'content-type': 'application/json' },
        body: JSON.stringify({ email }),
      });
      expect(answer.status, await answer.text()).toBe(200);
      return email;
    },
    /** A change through the panel without a browser; `path` below the restaurant's pages. */
    ask: async (method: 'GET' | 'POST', path: string, fields: Record<string, string> = {}) => {
      session ??= await openSession();
      const { cookie, token } = session;
      const answer = await fetch(`${base}${path}`, {
        method,
        redirect: 'manual',
        headers: { cookie, origin: stand.url, 'x-csrf-token': token },
        ...(method === 'POST' ? { body: new URLSearchParams(fields) } : undefined),
      });
      const text = await answer.text();
      // Which request it was, values of fields, and what a change before left to say differ by themselves.
      const differing = /req_\w+|value="[^"]*"|<p class="message [^<]*<\/p>/g;
      return { status: answer.status, text: text.replaceAll(differing, '') };
    },
    close: async (): Promise<void> => {
      await stand.close();
      await receiver.close();
    },
  };
};
