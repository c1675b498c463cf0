/** Texts of the area "restaurant". */
import { deliveries } from './deliveries.ts';
import { keys } from './keys.ts';
import { notifications } from './notifications.ts';
import { webhooks } from './webhooks.ts';

export const restaurant = {
  nav: 'Restaurants',
  list: {
    title: 'Restaurants',
    search: 'Name or restaurant id',
    find: 'Find',
    name: 'Restaurant',
    id: 'Restaurant id',
    api: 'API access',
    none: 'No restaurant is assigned to your account. Ask the person who invited you.',
    notFound: (text: string) => `None of your restaurants has “${text}” in its name or as its id.`,
    showAll: 'Show all',
  },
  noMore: 'This is the end of the list.',
  cancel: 'Cancel',
  back: 'Back',
  optional: 'optional',
  overview: {
    nav: 'API access',
    title: (name: string) => `API access of ${name}`,
    on: 'On',
    off: 'Off',
    onText: 'Programs with a valid key of this restaurant, and API clients that may use it, can call the API.',
    offText: 'Every API call about this restaurant is refused. Keys and endpoints are kept.',
    turnOn: 'Turn on',
    turnOff: 'Turn off…',
    turnedOn: (name: string) => `API access of ${name} is on.`,
    turnedOff: (name: string) => `API access of ${name} is off.`,
    offTitle: (name: string) => `Turn off API access of ${name}?`,
    offQuestion:
      'Within a second every call about this restaurant is refused with API_DISABLED, until you turn it on again.',
    turnOffNow: 'Turn off API access',
    state: 'API access',
    id: 'Restaurant id',
    address: 'Address of the API',
    docs: 'Reference',
    reference: 'Read what the API can do',
  },
  keys,
  notifications,
  webhooks,
  deliveries,
};
