/** The events that a sandbox makes on request: all but those of the webhook engine itself. */
export const triggerableEvents = [
  'order.new',
  'order.countdown_started',
  'order.timeout',
  'order.confirmed',
  'order.closed',
  'order.cancelled',
  'customer.changed',
  'loyaltylog.created',
  'menu.changed',
] as const;
