/** Texts about kinds of events that a restaurant sends. */
export const notifications = {
  nav: 'Notifications',
  title: (name: string) => `Notifications of ${name}`,
  intro: 'Events in the restaurant are sent to your webhook endpoints. Choose which kinds.',
  off: 'While a kind is off, its events are not recorded, so they cannot be sent later either.',
  kinds: { customers: 'Customers', orders: 'Orders', loyaltylog: 'Loyalty log', menu: 'Menu' },
  hints: {
    customers: 'A customer is created, changed or removed.',
    orders: 'An order comes in, is confirmed, closed or cancelled.',
    loyaltylog: 'Points are added or taken.',
    menu: 'Categories or products of the menu change.',
  },
  on: 'On',
  offState: 'Off',
  turnedOn: (kind: string) => `${kind}: on`,
  turnedOff: (kind: string) => `${kind}: off`,
  noEndpoint: 'No enabled endpoint receives them.',
  addEndpoint: 'Add an endpoint',
};
