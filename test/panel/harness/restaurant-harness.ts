/**
 * A panel with an owner in front of it, a receiver of webhooks behind it, and a program that makes events through the
 * API.
 */
import { expect } from 'vitest';
import { startReceiver } from '../../support/webhook-receiver.ts';
import { type HarnessUser, startPanelHarness } from './panel-harness.ts';

export type RestaurantHarness = Awaited<ReturnType<typeof startRestaurantHarness>>;

export const startRestaurantHarness = async () => {
  const harness = await startPanelHarness();
  const receiver = await startReceiver();
  const [restuid = '', others = ''] = harness.restaurants;
  const owner: HarnessUser = await harness.user('owner');
  const base = `${harness.url}/panel/restaurants/${restuid}`;
  const cookie = await harness.cookieOf(owner);
  const first = await (await fetch(base, { headers: { cookie } })).text();
  const token = /name="csrf" value="([^"]+)"/.exec(first)?.[1] ?? '';
  const send = async (method: 'GET' | 'POST', path: string, fields: Record<string, string>) => {
    const answer = await fetch(`${base}${path}`, {
      method,
      redirect: 'manual',
      headers: { cookie, origin: harness.url, 'x-csrf-token': token },
      ...(method === 'POST' ? { body: new URLSearchParams(fields) } : undefined),
    });
    return { status: answer.status, text: await answer.text() };
  };
  const made = await send('POST', '/keys', { name: 'events' });
  const key = /opk_\w+/.exec(made.text)?.[0] ?? '';
  const { page, problems } = await harness.signIn(owner);
  let count = 0;
  return {
    ...harness,
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
      const answer = await fetch(`${harness.url}/api/customer/create`, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify({ email }),
      });
      expect(answer.status, await answer.text()).toBe(200);
      return email;
    },
    notifyOfCustomers: async (): Promise<void> => {
      expect((await send('POST', '/notifications', { kind: 'customers', on: '1' })).status).toBe(303);
    },
    /** For events about customers; returns its uid. */
    addEndpoint: async (url = receiver.url): Promise<string> => {
      const { text } = await send('POST', '/webhooks', { url, kinds: 'customers' });
      const uid = /whe_\w+/.exec(text)?.[0];
      expect(uid, text).toBeDefined();
      return uid ?? '';
    },
    /** What the owner is answered without a browser; `path` below the restaurant's pages. */
    ask: async (method: 'GET' | 'POST', path: string, fields: Record<string, string> = {}) => {
      const { status, text } = await send(method, path, fields);
      // Which request it was, values of fields, and what a change before left to say differ by themselves.
      const differing = /req_\w+|value="[^"]*"|<p class="message [^<]*<\/p>/g;
      return { status, text: text.replaceAll(differing, '') };
    },
    close: async (): Promise<void> => {
      await harness.close();
      await receiver.close();
    },
  };
};
