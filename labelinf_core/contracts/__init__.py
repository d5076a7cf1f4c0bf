"""What components are: their bases, what is public, what is guaranteed, what is raised."""
