/** Records that new rows hang on. */
export interface Parents {
  readonly customerNumber: string;
  readonly jobNumber: string;
  readonly employeeId: string;
}

/** The values that an author gives a new row, and those of a later edit. */
export interface Authored {
  readonly made: Readonly<Record<string, string>>;
  readonly later: Readonly<Record<string, string>>;
}

/** For each table that authors can write. */
export function authoredIn({
  customerNumber,
  jobNumber,
  employeeId,
}: Parents): Record<string, Authored> {
  return {
    customers: {made: {name: 'Ada', fax: '555-0101'}, later: {fax: '555-0102'}},
    customer_notes: {
      made: {customer_number: customerNumber, note: 'Rings twice'},
      later: {note: 'Rings once'},
    },
    jobs: {made: {customer_number: customerNumber, name: 'Boiler'}, later: {name: 'Boilers'}},
    job_notes: {
      made: {job_number: jobNumber, note: 'The key is next door'},
      later: {note: 'No key'},
    },
    time_entries: {
      made: {
        job_number: jobNumber,
        employee_id: employeeId,
        started_on: '2026-11-03 09:00-05',
        number_of_hours: '1.5',
      },
      later: {number_of_hours: '2.25'},
    },
    job_charges: {
      made: {job_number: jobNumber, details: 'Pipe', quantity: '2', price_per_unit: '3.50'},
      later: {},
    },
    employees: {made: {name: 'Grace'}, later: {name: 'Grace H.'}},
    tasks: {made: {name: 'Call back'}, later: {completed: 'true'}},
  };
}
