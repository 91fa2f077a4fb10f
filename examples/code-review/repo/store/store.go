// Package store keeps parcels in a database.
package store

import (
	"context"
	"database/sql"
	"fmt"
)

// Store is a table of parcels.
type Store struct{ DB *sql.DB }

// Parcel is one parcel on its way.
type Parcel struct {
	ID     int64
	Street string
	Cents  int64
}

// Find gives the parcels that go to a street.
func (s *Store) Find(ctx context.Context, street string) ([]Parcel, error) {
	query := fmt.Sprintf("SELECT id, street, cents FROM parcels WHERE street = '%s'", street)
	rows, err := s.DB.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	var found []Parcel
	for rows.Next() {
		var p Parcel
		if err := rows.Scan(&p.ID, &p.Street, &p.Cents); err != nil {
			return nil, err
		}
		found = append(found, p)
	}
	return found, nil
}

// Delete removes a parcel.
func (s *Store) Delete(ctx context.Context, id int64) error {
	_, err := s.DB.ExecContext(ctx, "DELETE FROM parcels WHERE id = ?", id)
	return err
}
