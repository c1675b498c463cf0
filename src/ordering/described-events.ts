/**
 * The events of the core as data (interface 12.1). The webhook engine and the documentation describe them from here.
 */
import { z } from 'zod';
import { customerAnswer } from './customers/customer-view.ts';
import { loyaltyAnswer } from './loyalty/loyalty-view.ts';
import { orderAnswer } from './orders/order/order-view.ts';

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

const { confirmation } = orderAnswer.shape;
const identity = { uid: z.string(), token: z.string() };
const countdown = confirmation.pick({
  confirmed: true,
  countdown_time: true,
  countdown_started: true,
  countdown_started_iso: true,
  countdown_end: true,
  countdown_end_iso: true,
  timeout: true,
} as Parameters<typeof confirmation.pick>[0]);
const changes = z.array(z.object({ uid: z.string(), ext_id: z.string().nullable() }));
const elements = z.object({ created: changes, updated: changes, removed: changes });

const orderEvent = (event: string, summary: string, value: z.ZodType = orderAnswer): DescribedEvent => ({
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
    value: customerAnswer.partial().required({ uid: true }),
    trailing: z.object({
      change: z.enum(['created', 'updated', 'removed']),
      changed_fields: z.array(z.string()),
    }),
  },
  orderEvent('new', 'An order was received'),
  orderEvent(
    'countdown_started',
    'The time to confirm an order began',
    z.object({ ...identity, confirmation: countdown }),
  ),
  orderEvent(
    'timeout',
    'The time to confirm an order is over',
    z.object({ ...identity, confirmation: z.object({ confirmed: z.boolean(), timeout: z.boolean() }) }),
  ),
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
    value: z.object({
      version: z.int(),
      previous_version: z.int(),
      cause: z.enum(['import', 'revert', 'panel']),
      categories: elements.nullable(),
      products: elements.nullable(),
    }),
  },
];
