/** Texts about kinds of events that a restaurant sends. */
export const notifications = {
  nav: 'Notifications',
  title: (name: string) => `Notifications of ${name}`,
  intro: 'What happens in the restaurant is sent to your webhook endpoints. Choose what.',
  off: 'While a kind is off, its events are neither sent nor recorded: what happens meanwhile cannot be sent later.',
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
  noEndpoint: 'No endpoint receives them yet.',
  addEndpoint: 'Add an endpoint',
};
