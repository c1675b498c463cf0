/** The states of a delivery (interface 12.4). `waiting`: an earlier delivery of its entity queue is not finished. */
export const deliveryStates = ['pending', 'waiting', 'succeeded', 'exhausted', 'cancelled'] as const;
export type DeliveryState = (typeof deliveryStates)[number];
