import type { Command } from 'commander';
import type { Output } from '../../terminal/output.ts';
import { toLine, UsageError } from '../../terminal/output.ts';
import { callWebhook, type Item, nextTry, onEndpoint, pageNote } from './call-webhook.ts';

export const deliveryCommands = (group: Command, output: Output): void => {
  deliveriesCommand(group, output);
  deliveryCommand(group, output);
  redeliverCommand(group, output);
  redeliveryCommand(group, output);
  eventsCommand(group, output);
};

type Filter = {
  restaurant: string;
  endpoint?: string;
  eventId?: string;
  event?: string;
  state?: string;
  redelivery?: string;
  since?: string;
  page?: string;
  cursor?: string;
  pagesize?: string;
};

const deliveriesCommand = (group: Command, output: Output): void => {
  group
    .command('deliveries')
    .description('log of deliveries, newest first, and how many there are in each state')
    .requiredOption('--restaurant <restuid>', 'the restaurant')
    .option('--endpoint <uid>', 'to this endpoint')
    .option('--event-id <id>', 'of this event')
    .option('--event <name>', 'of events of this name, e.g. order.new')
    .option('--state <state>', 'pending, waiting, succeeded, exhausted or cancelled')
    .option('--redelivery <uid>', 'of this redelivery')
    .option('--since <time>', 'created from this time on, e.g. 2026-05-01T10:00:00Z')
    .option('--page <n>', 'page to show')
    .option('--cursor <cursor>', 'the page after the one that returned this cursor')
    .option('--pagesize <n>', 'deliveries of a page, up to 100')
    .action(async (options: Filter, command: Command) => {
      const found = await callWebhook(command, options.restaurant, (webhooks) =>
        webhooks.listDeliveries(options.restaurant, {
          endpoint_uid: options.endpoint,
          event_id: options.eventId,
          event: options.event,
          state: options.state,
          redelivery_uid: options.redelivery,
          since: options.since,
          page: options.page,
          cursor: options.cursor,
          pagesize: options.pagesize,
        }),
      );
      if (output.json) return output.result(found);
      for (const delivery of found.deliveries) output.line(toLine(inShort(delivery)));
      const counts = Object.entries(found.counts ?? {}).map(([state, count]) => `${count} ${state}`);
      output.line([pageNote(found), ...(counts.length === 0 ? [] : [counts.join(', ')])].join('; '));
    });
};

const inShort = (delivery: Item): Item => ({
  uid: delivery.uid,
  created: delivery.created_iso,
  endpoint: delivery.endpoint_uid,
  event: delivery.event,
  entity: delivery.entity,
  seq: delivery.seq,
  state: delivery.state,
  attempts: delivery.attempts_count,
  next: nextTry(delivery),
  event_id: delivery.event_id,
  redelivery: delivery.redelivery_uid,
});

const deliveryCommand = (group: Command, output: Output): void => {
  group
    .command('delivery')
    .description('one delivery: each attempt with its times and answer, and the body')
    .requiredOption('--restaurant <restuid>', 'the restaurant')
    .requiredOption('--delivery <uid>', 'the delivery (`webhook deliveries` lists them)')
    .action(async (options: { restaurant: string; delivery: string }, command: Command) => {
      const found = await callWebhook(command, options.restaurant, (webhooks) =>
        webhooks.readDelivery(options.restaurant, { uid: options.delivery }),
      );
      if (output.json) return output.result(found);
      const { attempts, body, ...delivery } = found.delivery;
      output.line(toLine(inShort(delivery)));
      for (const attempt of attempts) output.line(`  ${toLine(attemptInShort(attempt))}`);
      output.line(String(body));
    });
};

const attemptInShort = ({ number, started_iso, timings_ms, ...attempt }: Item): Item => ({
  number,
  started: started_iso,
  address: attempt.address,
  status: attempt.status,
  failure: attempt.failure,
  ...Object.fromEntries(Object.entries(timings_ms as Item).map(([part, ms]) => [`${part}_ms`, ms])),
  retry_after: attempt.retry_after,
  response: attempt.response,
});

type Redeliver = {
  restaurant: string;
  endpoint: string;
  eventId?: string;
  since?: string;
  until?: string;
  all?: boolean;
};

const redeliverCommand = (group: Command, output: Output): void => {
  onEndpoint(group, 'redeliver', 'deliver recorded events again: one, or all that did not succeed since a time')
    .option('--event-id <id>', 'this event')
    .option('--since <time>', 'all recorded from this time on, at most 30 days ago')
    .option('--until <time>', 'and before this time')
    .option('--all', 'also events whose delivery succeeded')
    .action(async (options: Redeliver, command: Command) => {
      if ((options.eventId === undefined) === (options.since === undefined))
        throw new UsageError('give --event-id or --since');
      const made = await callWebhook(command, options.restaurant, (webhooks) =>
        webhooks.redeliver(options.restaurant, {
          endpoint_uid: options.endpoint,
          event_id: options.eventId,
          since: options.since,
          until: options.until,
          all: options.all,
        }),
      );
      if (output.json) return output.result(made);
      const { uid, queued, state } = made.redelivery;
      output.result({ redelivery_uid: uid, queued, state }, `Progress: webhook redelivery --redelivery ${uid}`);
    });
};

const redeliveryCommand = (group: Command, output: Output): void => {
  group
    .command('redelivery')
    .description('progress of a redelivery: what is still queued, and the deliveries in each state')
    .requiredOption('--restaurant <restuid>', 'the restaurant')
    .requiredOption('--redelivery <uid>', 'the redelivery (`webhook redeliver` prints it)')
    .action(async ({ restaurant, redelivery: uid }: { restaurant: string; redelivery: string }, command: Command) => {
      const found = await callWebhook(command, restaurant, (webhooks) => webhooks.readRedelivery(restaurant, { uid }));
      if (output.json) return output.result(found);
      const { counts, ...redelivery } = found.redelivery;
      output.result({ ...redelivery, ...counts });
    });
};

type Feed = {
  restaurant: string;
  after?: string;
  since?: string;
  kinds?: string;
  event?: string;
  entity?: string;
  pagesize?: string;
};

const eventsCommand = (group: Command, output: Output): void => {
  group
    .command('events')
    .description('recorded events, oldest first, with the state of their deliveries')
    .requiredOption('--restaurant <restuid>', 'the restaurant')
    .option('--after <event>', 'events after this event id or cursor')
    .option('--since <time>', 'recorded from this time on')
    .option('--kinds <kinds>', 'comma-separated: customers, orders, loyaltylog, menu (default all)')
    .option('--event <name>', 'events of this name, e.g. order.new')
    .option('--entity <uid>', 'of this entity')
    .option('--pagesize <n>', 'events to show, up to 100')
    .action(async ({ restaurant, ...options }: Feed, command: Command) => {
      const found = await callWebhook(command, restaurant, (webhooks) => webhooks.listEvents(restaurant, options));
      if (output.json) return output.result(found);
      for (const event of found.events) output.line(toLine(eventInShort(event)));
      output.line(found.more ? `More: --after ${found.next_cursor}` : 'There are no later events now.');
    });
};

const eventInShort = ({ id, created, event, entity, seq, previous_seq, deliveries }: Item): Item => ({
  id,
  created,
  event,
  entity,
  seq,
  previous_seq,
  deliveries: (deliveries as Item[]).map((one) => `${String(one.endpoint_uid)}:${String(one.state)}`),
});
