/** Waits until the webhooks of the demo are delivered. */
import { setTimeout } from 'node:timers/promises';
import { until } from '../../support/until.ts';
import type { Json, Printed } from './run-examples.ts';

/** Between two looks, which cost units of the key. */
const pauseMs = 100;

export const settleDeliveries = async (url: string, { apiKey }: Printed): Promise<void> => {
  const read = async (path: string): Promise<Json> =>
    (await fetch(`${url}/api/${path}`, { headers: { 'x-api-key': apiKey } })).json();
  await until(async () => {
    await setTimeout(pauseMs);
    const { events } = await read('events/list');
    const { deliveries } = await read('webhook/deliveries?state=succeeded');
    const { endpoints } = await read('webhook/endpoints');
    // Above the rate limit an answer has no list.
    if ([events, deliveries, endpoints].includes(undefined)) return false;
    return deliveries.length >= events.length && endpoints.every((one: Json) => one.next_attempt === null);
  });
};
