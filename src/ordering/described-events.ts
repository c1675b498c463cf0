/**
 * The events of the core as data (interface 12.1). The webhook engine and the documentation describe them from here.
 */
import { z } from 'zod';
import { customerAnswer } from './customers/customer-schema.ts';
import { loyaltyAnswer } from './loyalty/loyalty-view.ts';
import { confirmationAnswer, identity, orderAnswer } from './orders/order/order-schema.ts';
import { count, textOrNull } from './values/described-members.ts';

export type DescribedEvent = {
  event: string;
  kind: string;
  /** Name of the member that holds `value`. */
  object: string;
  summary: string;
  value: z.ZodType;
  /** Members after previous_seq. */
  trailing?: z.ZodObject;
};

const removedCustomer = z
  .object({ uid: z.string().describe('Identified the customer; it is never used again') })
  .meta({ id: 'RemovedCustomer', description: 'What is left of a customer who was removed' });

const changedCustomer = z
  .union([customerAnswer, removedCustomer])
  .meta({ id: 'ChangedCustomer', description: 'The customer after the change' });

const countdown = z
  .object({
    ...identity,
    confirmation: confirmationAnswer
      .pick({
        confirmed: true,
        countdown_time: true,
        countdown_started: true,
        countdown_started_iso: true,
        countdown_end: true,
        countdown_end_iso: true,
        timeout: true,
      })
      .meta({ id: 'Countdown', description: 'The time in which the order must be confirmed' }),
  })
  .meta({ id: 'OrderCountdown', description: 'An order whose countdown began' });

const timeout = z
  .object({
    ...identity,
    confirmation: confirmationAnswer
      .pick({ confirmed: true, timeout: true })
      .describe('Whether the order was confirmed or timed out'),
  })
  .meta({ id: 'OrderTimeout', description: 'An order whose countdown ended before it was confirmed' });

const element = z
  .object({
    uid: z.string().describe('Category or product in the menu'),
    ext_id: textOrNull('Id that the importing client gave it', 'when it was made in the panel'),
  })
  .meta({ id: 'ChangedElement', description: 'A category or product of the menu that was changed' });

const elements = (meaning: string) =>
  z.array(element).nullable().describe(`${meaning}; null when the list was left out of a \`truncated\` body`);

const changedElements = z
  .object({
    created: elements('New elements'),
    updated: elements('Elements of which a member changed'),
    removed: elements('Elements that are no longer in the menu'),
  })
  .meta({ id: 'ChangedElements', description: 'Changed elements of one kind: categories or products' });

const changedMenu = z
  .object({
    version: count('Version of the menu after the change'),
    previous_version: count('Version of the menu before the change'),
    cause: z
      .enum(['import', 'revert', 'panel'])
      .describe('What changed the menu: an import, the return to an earlier version, or a user of the panel'),
    categories: changedElements.describe('The changed categories'),
    products: changedElements.describe('The changed products'),
  })
  .meta({ id: 'ChangedMenu', description: 'A new version of the menu, and what changed in it' });

const changeOfCustomer = z.object({
  change: z.enum(['created', 'updated', 'removed']).describe('What was done with the record'),
  changed_fields: z
    .array(z.string())
    .describe(
      'Names of the members that were set (`created`) or changed (`updated`), without statistics and balance; empty for ' +
        '`removed`',
    ),
});

const eventOrder = orderAnswer
  .extend({
    details: orderAnswer.shape.details
      .nullable()
      .describe('The lines of the order; null when they were left out of a `truncated` body'),
  })
  .meta({ id: 'EventOrder', description: 'An order in an event' });

const orderEvent = (event: string, summary: string, value: z.ZodType = eventOrder): DescribedEvent => ({
  event: `order.${event}`,
  kind: 'orders',
  object: 'order',
  summary,
  value,
});

export const describedEvents: readonly DescribedEvent[] = [
  {
    event: 'customer.changed',
    kind: 'customers',
    object: 'customer',
    summary: 'A customer record was created, updated or removed; of a removed one only the uid is left',
    value: changedCustomer,
    trailing: changeOfCustomer,
  },
  orderEvent('new', 'An order was received'),
  orderEvent('countdown_started', 'The time to confirm an order began', countdown),
  orderEvent('timeout', 'The time to confirm an order is over', timeout),
  orderEvent('confirmed', 'An order was confirmed'),
  orderEvent('closed', 'An order was closed'),
  orderEvent('cancelled', 'An order was cancelled'),
  {
    event: 'loyaltylog.created',
    kind: 'loyaltylog',
    object: 'loyaltylog',
    summary: 'An entry of the loyalty ledger was made',
    value: loyaltyAnswer,
  },
  {
    event: 'menu.changed',
    kind: 'menu',
    object: 'menu',
    summary: 'The menu has a new version',
    value: changedMenu,
  },
];
