/** Kinds of events that a restaurant switches on and off (interface 12.1). */
export const eventKinds = ['customers', 'orders', 'loyaltylog', 'menu'] as const;
