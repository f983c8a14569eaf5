import MiniSearch, {type AsPlainObject} from 'minisearch';
import {type Passage, searchOptions} from './search-options.ts';

export function makeIndex(passages: readonly Passage[]): AsPlainObject {
  const index = new MiniSearch(searchOptions);
  index.addAll(passages);
  return index.toJSON();
}
