import type { Model } from '../model/model.ts';
import type { GeneratedFile } from '../model/text.ts';
import { constantsText } from './constants.ts';
import { eventExtras, eventsText } from './events.ts';
import { operationsText } from './operations.ts';
import { typesText } from './types.ts';

export const phpFiles = (model: Model): GeneratedFile[] => [
  { path: 'php/generated/Types.php', text: typesText(model, eventExtras(model)) },
  { path: 'php/generated/Operations.php', text: operationsText(model) },
  { path: 'php/generated/Events.php', text: eventsText(model) },
  { path: 'php/generated/Constants.php', text: constantsText(model) },
];
