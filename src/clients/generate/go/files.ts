import type { Model } from '../model/model.ts';
import type { GeneratedFile } from '../model/text.ts';
import { eventsText } from './events.ts';
import { operationsText } from './operations.ts';
import { readNames } from './read-names.ts';
import { typesText } from './types.ts';

export const goFiles = (model: Model): GeneratedFile[] => {
  const names = readNames(model);
  return [
    { path: 'go/types.go', text: typesText(model, names) },
    { path: 'go/operations.go', text: operationsText(model, names) },
    { path: 'go/events.go', text: eventsText(model) },
  ];
};
