import type {CustomerFilters} from '../../api/client.ts';

/** The one that the service may not have changed: addresses are joined, numbers formatted, names kept. @see docs/service.md "Filters" */
export const FILTERS: readonly (keyof CustomerFilters)[] = ['name'];
